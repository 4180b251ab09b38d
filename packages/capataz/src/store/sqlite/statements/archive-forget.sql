-- A job is forgotten: the archive may forget it, too.
-- ?1 id
UPDATE archived_books SET is_forgotten = 1 WHERE job = ?1
