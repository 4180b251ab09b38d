-- Ended jobs, the earliest end first, with how many pages of 4 KiB their payloads take, about.
-- ?1 limit
SELECT e.ordinal, e.n, e.id, e.status, e.ended_at,
  CASE e.status WHEN 'failed' THEN json_extract(e.rest, '$.error.code') END AS error_code,
  (octet_length(e.rest) + octet_length(e.data) + octet_length(i.input)) / 4096 AS pages
FROM ended_jobs e JOIN inputs i ON i.n = e.n
ORDER BY e.ordinal LIMIT ?1
