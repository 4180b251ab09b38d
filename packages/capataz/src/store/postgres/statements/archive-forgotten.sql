-- $1 limit
SELECT job FROM archived_books WHERE is_forgotten ORDER BY job LIMIT $1
