-- ?1 client, ?2 key, ?3 id, ?4 at
DELETE FROM letters WHERE client = ?1 AND key = ?2 AND id = ?3 AND expires_at <= ?4
