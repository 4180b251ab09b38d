SELECT (SELECT count(*) FROM outbox_events) AS outbox,
  (SELECT count(*) FROM outbox_dlq WHERE resolved_at IS NULL) AS dead
