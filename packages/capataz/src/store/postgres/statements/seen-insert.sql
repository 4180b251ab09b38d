-- $1 and $2 job ids and signal ids
INSERT INTO seen (job, id) SELECT * FROM unnest($1::text[], $2::text[])
