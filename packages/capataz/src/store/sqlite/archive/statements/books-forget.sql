-- ?1 ids as JSON
DELETE FROM books WHERE job IN (SELECT value FROM json_each(?1))
