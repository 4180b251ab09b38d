-- Rows of the books of those of these jobs that ended until an instant, up to a position.
-- ?1 ids as JSON, ?2 instant, ?3 position, ?4 limit, ?5 bytes, after which no further row begins
SELECT position, id, client, correlation, seq, at, count, entries, total FROM (
  SELECT h.position, i.id, i.client, i.correlation, h.seq, h.at, h.count, h.entries,
    count(*) OVER () AS total,
    sum(octet_length(h.entries)) OVER (ORDER BY r.key, h.seq) - octet_length(h.entries) AS before
  FROM json_each(?1) r
    CROSS JOIN ended_jobs e ON e.id = r.value AND e.ended_at <= ?2
    CROSS JOIN inputs i ON i.n = e.n
    CROSS JOIN history h ON h.job = e.n AND h.position <= ?3
  WHERE NOT EXISTS (SELECT 1 FROM archived_books a WHERE a.job = e.id AND a.is_forgotten = 1)
  ORDER BY r.key, h.seq LIMIT ?4)
WHERE before < ?5
