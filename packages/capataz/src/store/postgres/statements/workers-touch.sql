-- Rows are locked by ascending id. Of those whose record is another one the others are told.
-- $1 the instant of a test or null, $2 JSON rows, $3 who writes
WITH r AS (
    SELECT DISTINCT ON (id) * FROM json_to_recordset($2::json)
      AS u (id text, worker text, unseen boolean, silent_after bigint, place integer) ORDER BY id, place DESC),
  locked AS (SELECT w.id FROM workers w JOIN r ON r.id = w.id ORDER BY w.id FOR UPDATE OF w),
  instant AS (SELECT store_now($1) AS at),
  touched AS (
    UPDATE workers SET worker = coalesce(r.worker, workers.worker), silent_at = instant.at + r.silent_after,
      last_seen_at = CASE WHEN r.unseen THEN workers.last_seen_at ELSE instant.at END
    FROM r, locked, instant WHERE locked.id = r.id AND workers.id = r.id
    RETURNING workers.id, r.worker IS NOT NULL AS is_news)
SELECT tell_of_worker($3, id) FROM touched WHERE is_news
