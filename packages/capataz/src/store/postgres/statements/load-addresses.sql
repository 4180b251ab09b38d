-- $1 addresses
SELECT address, job FROM addresses WHERE address = ANY ($1::text[])
