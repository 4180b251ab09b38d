-- Jobs of whose books something lies in an archive, `seq` being the last entry that does. By id: it
-- outlives the job until the archive has forgotten it, too.
CREATE TABLE archived_books (
  job TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  is_forgotten INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX archived_books_forgotten ON archived_books (job) WHERE is_forgotten = 1;
