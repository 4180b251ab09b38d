-- Locks ended jobs, the earliest end first, with how many pages of 4 KiB their payloads take, about.
-- $1 limit
SELECT e.ordinal, e.id, e.status, e.ended_at, e.error_code,
  ((octet_length(e.record) + octet_length(e.data)
    + coalesce((SELECT octet_length(i.pinned) FROM inputs i WHERE i.id = e.id), 0)) / 4096) AS pages
FROM ended_jobs e ORDER BY e.ordinal LIMIT $1 FOR UPDATE OF e
