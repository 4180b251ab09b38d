-- Puts events under the names that they are for, each whole or, where one of its names is full, not at
-- all. Nothing at all where names listen to more than the publisher knew.
-- $1 highest id of the bindings that the publisher knows; $2, $3 pairs: a name and the event's place in
-- $4 routing keys, $5 headers, $6 bodies
-- → is_stale; full_events: places of what was refused
WITH stale AS (
  SELECT WHERE (SELECT coalesce(max(id), 0) FROM bindings) <> $1::bigint
), pairs AS (
  SELECT name, event FROM unnest($2::bigint[], $3::bigint[]) AS pair (name, event)
  WHERE NOT EXISTS (SELECT FROM stale)
), locked AS MATERIALIZED (
  -- All publishers in the same order.
  SELECT id, length, max_length FROM names
  WHERE id IN (SELECT name FROM pairs) ORDER BY id FOR NO KEY UPDATE
), judged AS (
  SELECT event, bool_and(has_room) AS has_room
  FROM (
    SELECT event, length + row_number() OVER (PARTITION BY name ORDER BY event) <= max_length AS has_room
    FROM pairs JOIN locked ON locked.id = pairs.name
  ) AS copies
  GROUP BY event
), placed AS (
  INSERT INTO entries (name, routing_key, headers, body)
  SELECT pairs.name, routing_key, headers, body
  FROM unnest($4::text[], $5::text[], $6::text[])
    WITH ORDINALITY AS message (routing_key, headers, body, event)
  JOIN judged USING (event)
  JOIN pairs USING (event)
  -- A name that was deleted is still among the bindings that the publisher read.
  JOIN locked ON locked.id = pairs.name
  WHERE has_room
  ORDER BY event, pairs.name
  RETURNING name
), counted AS (
  UPDATE names SET length = length + added.count
  FROM (SELECT name, count(*) FROM placed GROUP BY name) AS added
  WHERE names.id = added.name
  RETURNING pg_notify(current_schema(), names.id::text)
)
SELECT
  EXISTS (SELECT FROM stale) AS is_stale,
  ARRAY(SELECT event::integer FROM judged WHERE NOT has_room) AS full_events
