-- What lies in the inbox of an open job, in the order of arrival.
-- ?1 id, ?2 at
SELECT x.id, x.kind, x.name, x.body FROM jobs j JOIN inbox x ON x.job = j.n
WHERE j.id = ?1 AND (x.expires_at IS NULL OR x.expires_at > ?2) ORDER BY x.n
