-- ?1 ids as JSON
DELETE FROM archived_books WHERE job IN (SELECT value FROM json_each(?1)) AND is_forgotten = 1
