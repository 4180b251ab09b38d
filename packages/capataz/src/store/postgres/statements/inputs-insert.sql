-- One array a column.
INSERT INTO inputs (id, client, correlation, pinned)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
