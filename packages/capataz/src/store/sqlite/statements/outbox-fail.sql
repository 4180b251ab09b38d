-- ?1 id, ?2 error, ?3 not before
UPDATE outbox_events SET retry_count = retry_count + 1, last_error = ?2, next_attempt_at = ?3 WHERE id = ?1
