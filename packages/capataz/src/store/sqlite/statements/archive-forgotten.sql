-- ?1 limit
SELECT job FROM archived_books WHERE is_forgotten = 1 LIMIT ?1
