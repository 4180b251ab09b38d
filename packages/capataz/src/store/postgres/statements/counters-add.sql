-- $1 and $2 names and by how much
INSERT INTO counters (name, value) SELECT * FROM unnest($1::text[], $2::bigint[])
