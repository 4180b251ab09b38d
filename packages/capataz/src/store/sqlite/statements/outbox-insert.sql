-- ?1 id, ?2 job id, ?3 name, ?4 payload, ?5 metadata, ?6 at
INSERT INTO outbox_events (id, aggregate_id, aggregate_type, event_type, payload, metadata, created_at, next_attempt_at)
VALUES (?1, ?2, 'JOB', ?3, ?4, ?5, ?6, ?6)
