-- Resolved ones, the earliest first.
-- ?1 before, ?2 limit
DELETE FROM outbox_dlq WHERE id IN (
  SELECT id FROM outbox_dlq WHERE resolved_at < ?1 ORDER BY resolved_at LIMIT ?2
)
