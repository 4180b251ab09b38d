-- $1 ids
DELETE FROM archived_books WHERE job = ANY ($1::text[]) AND is_forgotten
