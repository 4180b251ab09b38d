-- One array a column.
INSERT INTO letters (address, signal, id, kind, name, body, expires_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
  $7::bigint[])
