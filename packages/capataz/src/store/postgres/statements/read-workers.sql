SELECT worker, last_seen_at, silent_at FROM workers ORDER BY id
