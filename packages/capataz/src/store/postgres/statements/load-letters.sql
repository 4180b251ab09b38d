-- Letters that are kept for addresses, in the order of arrival.
-- $1 addresses
SELECT n, address, id, kind, name, body, expires_at FROM letters
WHERE address = ANY ($1::text[]) ORDER BY n
