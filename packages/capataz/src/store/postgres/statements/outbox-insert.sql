-- $1 ids, $2 job ids, $3 names, $4 payloads, $5 the rest of what is known of each
INSERT INTO outbox_events (id, aggregate_id, aggregate_type, event_type, payload, metadata, created_at, next_attempt_at)
SELECT id, job, 'JOB', name, payload::jsonb, metadata::jsonb, instant(stamp()), instant(stamp())
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS r (id, job, name, payload, metadata)
