-- Locks, by ascending id, the open jobs of a commit, whom its letters reach, and who waits longest for
-- each of its keys besides them.
-- $1 job ids, $2 ids of those that are needed whole, $3 addresses of letters
SELECT j.id, j.n, j.version, j.client, j.correlation, j.status, j.held, j.lease_until, j.timers, j.wait_key, j.place,
  j.last_seq,
  CASE WHEN j.id = ANY ($2::text[]) THEN j.record END AS record,
  CASE WHEN j.id = ANY ($2::text[]) THEN j.data END AS data,
  CASE WHEN j.id = ANY ($2::text[]) THEN (SELECT i.pinned FROM inputs i WHERE i.id = j.id) END AS pinned
FROM jobs j
WHERE j.id = ANY (ARRAY(
  SELECT unnest($1::text[])
  UNION SELECT a.job FROM addresses a WHERE a.address = ANY ($3::text[])
  UNION SELECT w.id FROM unnest(locked_keys()) AS k (key) CROSS JOIN LATERAL (
    SELECT id FROM jobs WHERE wait_key = k.key AND id <> ALL ($1::text[]) ORDER BY place LIMIT 1) w))
ORDER BY j.id FOR UPDATE OF j
