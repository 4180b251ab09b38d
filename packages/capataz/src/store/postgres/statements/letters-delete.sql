-- $1 numbers
DELETE FROM letters WHERE n = ANY ($1::bigint[])
