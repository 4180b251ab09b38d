-- $1 numbers
DELETE FROM inbox WHERE n = ANY ($1::bigint[])
