-- Books of jobs that ended, moved here from a store. A row is known by its position there.
CREATE TABLE books (
  position INTEGER PRIMARY KEY,
  job TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  entries TEXT NOT NULL,
  client TEXT NOT NULL,
  correlation TEXT NOT NULL
) STRICT;
CREATE INDEX books_of_job ON books (job, seq);
