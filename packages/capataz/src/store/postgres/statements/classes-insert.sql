-- $1 and $2 ids and classes
INSERT INTO classes (id, class) SELECT * FROM unnest($1::text[], $2::text[]) AS r (id, class) ORDER BY id
ON CONFLICT DO NOTHING
