-- Letters to a key, expired ones too.
-- ?1 client, ?2 key. Result: what they were, unordered.
DELETE FROM letters WHERE client = ?1 AND key = ?2 RETURNING n, id, kind, name, body, expires_at
