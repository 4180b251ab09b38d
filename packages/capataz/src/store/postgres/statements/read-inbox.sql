-- What lies in the inbox of an open job, in the order of arrival.
-- $1 id, $2 the instant of a test or null
SELECT x.id, x.kind, x.name, x.body FROM jobs j JOIN inbox x ON x.job = j.id
WHERE j.id = $1 AND (x.expires_at IS NULL OR x.expires_at > (SELECT store_now($2))) ORDER BY x.n
