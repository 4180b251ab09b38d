-- ?1 id, ?2 worker or null, ?3 seen or null, ?4 silent
UPDATE workers SET worker = coalesce(?2, worker), last_seen_at = coalesce(?3, last_seen_at), silent_at = ?4
WHERE id = ?1
