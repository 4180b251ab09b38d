-- $1 and $2 addresses and job ids
INSERT INTO addresses (address, job) SELECT * FROM unnest($1::text[], $2::text[])
