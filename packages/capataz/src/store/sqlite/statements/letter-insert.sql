-- Kept for whoever registers the key; the same id once.
-- ?1 client, ?2 key, ?3 id, ?4 kind, ?5 name, ?6 body, ?7 expiry
INSERT OR IGNORE INTO letters (client, key, id, kind, name, body, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
