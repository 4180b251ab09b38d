-- $1, $2 and $3 names, values and job ids
INSERT INTO attributes (name, value, job)
SELECT name, md5(value), job FROM unnest($1::text[], $2::text[], $3::text[]) AS r (name, value, job)
