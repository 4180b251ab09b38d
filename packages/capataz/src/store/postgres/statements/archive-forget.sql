-- Jobs are forgotten: the archive may forget them, too.
-- $1 ids
UPDATE archived_books SET is_forgotten = true WHERE job = ANY ($1::text[])
