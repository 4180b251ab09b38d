-- Gives the next entries of a name to a consumer, as many as fit; those that were handed out too often
-- become dead letters. A consumer whose lease was given up gets none.
-- $1 name, $2 consumer, $3 most entries, $4 bytes of bodies after which no further one is given
-- → in order: position, deliveries, reason (null: handed out), routing_key, headers, body
WITH next AS MATERIALIZED (
  SELECT position, octet_length(body) AS bytes FROM entries
  WHERE name = $1 AND held_by IS NULL AND reason IS NULL
    AND EXISTS (SELECT FROM consumers WHERE id = $2::uuid)
  ORDER BY position LIMIT $3 FOR UPDATE SKIP LOCKED
), sized AS (
  SELECT position, sum(bytes) OVER (ORDER BY position) - bytes AS bytes_before FROM next
), moved AS (
  UPDATE entries SET
    held_by = CASE WHEN deliveries < max_deliveries THEN $2::uuid END,
    reason = CASE WHEN deliveries >= max_deliveries
      THEN format('handed out %s times and never settled', deliveries) END,
    deliveries = deliveries + 1
  FROM sized, names
  WHERE entries.position = sized.position AND bytes_before < $4 AND names.id = $1
  RETURNING entries.position, deliveries, reason, routing_key, headers,
    CASE WHEN reason IS NULL THEN body ELSE '' END AS body
), counted AS (
  UPDATE names SET length = length - (SELECT count(*) FROM moved WHERE reason IS NOT NULL)
  WHERE id = $1 AND EXISTS (SELECT FROM moved WHERE reason IS NOT NULL)
)
SELECT * FROM moved ORDER BY position
