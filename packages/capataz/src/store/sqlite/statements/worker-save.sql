-- ?1 id, ?2 worker, ?3 seen, ?4 silent
INSERT OR REPLACE INTO workers (id, worker, last_seen_at, silent_at) VALUES (?1, ?2, ?3, ?4)
