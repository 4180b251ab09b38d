-- $1 JSON rows
INSERT INTO outbox_events (id, aggregate_id, aggregate_type, event_type, payload, metadata, created_at, next_attempt_at)
SELECT id, job, 'JOB', name, payload, metadata, instant(stamp()), instant(stamp())
FROM json_to_recordset($1::json) AS r (id text, job text, name text, payload jsonb, metadata jsonb)
