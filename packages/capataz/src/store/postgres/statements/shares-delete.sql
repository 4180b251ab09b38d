-- $1 numbers
DELETE FROM reservations WHERE id = ANY ($1::bigint[])
