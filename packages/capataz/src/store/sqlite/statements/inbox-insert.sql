-- Left for a job, unless something of that id lies there.
-- ?1 job number, ?2 id, ?3 kind, ?4 name, ?5 body, ?6 expiry
INSERT INTO inbox (job, id, kind, name, body, expires_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE job = ?1 AND id = ?2)
