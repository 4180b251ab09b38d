-- ?1 id
DELETE FROM outbox_events WHERE id = ?1
