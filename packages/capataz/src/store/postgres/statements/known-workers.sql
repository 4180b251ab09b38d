-- $1 ids
SELECT id FROM workers WHERE id = ANY ($1::text[])
