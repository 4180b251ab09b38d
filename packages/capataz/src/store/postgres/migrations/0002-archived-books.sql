-- Jobs of whose books something lies in an archive, `seq` being the last entry that does. It outlives the
-- job until the archive has forgotten it, too.
CREATE TABLE archived_books (
  job text COLLATE "C" PRIMARY KEY,
  seq bigint NOT NULL,
  is_forgotten boolean NOT NULL
);
CREATE INDEX archived_books_forgotten ON archived_books (job) WHERE is_forgotten;
