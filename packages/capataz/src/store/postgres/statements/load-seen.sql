-- Which of these signals, and of those that are kept for the addresses, the jobs have taken.
-- $1 job ids, $2 signal ids, $3 addresses
SELECT s.job, s.id FROM seen s
WHERE s.job = ANY (ARRAY(
    SELECT unnest($1::text[]) UNION SELECT a.job FROM addresses a WHERE a.address = ANY ($3::text[])))
  AND s.id = ANY (ARRAY(
    SELECT unnest($2::text[]) UNION SELECT l.signal FROM letters l WHERE l.address = ANY ($3::text[])))
