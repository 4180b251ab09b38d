-- Takes back what is held by consumers of a name that are gone: $2 those of whom it is known, and those
-- whose lease ran out. What a claim gives to one that goes at this moment is found by the next call.
-- $1 name, $2 consumers
WITH gone AS (
  DELETE FROM consumers WHERE id IN (
    SELECT id FROM consumers
    WHERE name = $1 AND (lease_until < clock_timestamp() OR id = ANY ($2::uuid[]))
    FOR UPDATE SKIP LOCKED
  )
  RETURNING id
), freed AS (
  UPDATE entries SET held_by = NULL WHERE position IN (
    SELECT position FROM entries
    WHERE name = $1 AND held_by IS NOT NULL AND NOT EXISTS (
      SELECT FROM consumers
      WHERE consumers.id = entries.held_by AND consumers.id NOT IN (SELECT id FROM gone)
    )
    FOR UPDATE SKIP LOCKED
  )
  RETURNING position
)
SELECT pg_notify(current_schema(), $1::bigint::text) WHERE EXISTS (SELECT FROM freed)
