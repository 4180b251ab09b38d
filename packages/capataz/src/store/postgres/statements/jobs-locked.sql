-- Open jobs that somebody else has locked at present, and the addresses under which they were looked for.
-- $1 job ids, $2 addresses
WITH named AS (
    SELECT unnest($1::text[]) AS id, NULL AS address
    UNION ALL SELECT a.job, a.address FROM addresses a WHERE a.address = ANY ($2::text[])),
  free AS (SELECT j.id FROM jobs j WHERE j.id = ANY (ARRAY(SELECT id FROM named)) FOR UPDATE SKIP LOCKED)
SELECT n.id, n.address FROM named n JOIN jobs j ON j.id = n.id WHERE n.id <> ALL (ARRAY(SELECT id FROM free))
