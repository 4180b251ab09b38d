-- $1 the instant of a test or null, $2 id, $3 worker, $4 silent after, $5 who writes
WITH saved AS (
  INSERT INTO workers (id, worker, last_seen_at, silent_at)
  SELECT $2, $3, at, at + $4::bigint FROM store_now($1) AS at
  ON CONFLICT (id) DO UPDATE SET worker = excluded.worker, last_seen_at = excluded.last_seen_at,
    silent_at = excluded.silent_at
  RETURNING id)
SELECT tell_of_worker($5, id) FROM saved
