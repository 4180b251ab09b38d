-- Forgets ended jobs: record, input, attributes and the signals that they took.
-- $1 job ids
WITH attributes_gone AS (DELETE FROM attributes WHERE job = ANY ($1::text[])),
  seen_gone AS (DELETE FROM seen WHERE job = ANY ($1::text[])),
  inputs_gone AS (DELETE FROM inputs WHERE id = ANY ($1::text[]))
DELETE FROM ended_jobs WHERE id = ANY ($1::text[])
