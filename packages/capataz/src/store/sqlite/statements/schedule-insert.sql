-- ?1 name, ?2 handled
INSERT OR IGNORE INTO schedules (name, handled) VALUES (?1, ?2)
