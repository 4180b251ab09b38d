-- $1 ids
DELETE FROM books WHERE job = ANY ($1::text[])
