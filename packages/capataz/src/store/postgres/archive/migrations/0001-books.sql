-- Books of jobs that ended, moved here from a store. A row is known by its position there.
CREATE TABLE books (
  position bigint PRIMARY KEY,
  job text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  count integer NOT NULL,
  entries text NOT NULL,
  client text NOT NULL,
  correlation text NOT NULL
);
CREATE INDEX books_of_job ON books (job, seq);
