-- Rows of the books of those of these jobs that ended until an instant, up to a position.
-- $1 ids, $2 instant, $3 position, $4 limit, $5 bytes, after which no further row begins
SELECT position, id, client, correlation, seq, at, count, entries, total FROM (
  SELECT b.position, e.id, i.client, i.correlation, b.seq, b.at, b.count, b.entries,
    count(*) OVER () AS total,
    sum(octet_length(b.entries)) OVER (ORDER BY r.n, b.seq) - octet_length(b.entries) AS before
  FROM unnest($1::text[]) WITH ORDINALITY AS r (id, n)
    JOIN ended_jobs e ON e.id = r.id AND e.ended_at <= $2
    JOIN inputs i ON i.id = e.id
    CROSS JOIN LATERAL (
      SELECT h.* FROM history h WHERE h.job = e.id AND h.position <= $3 ORDER BY h.seq LIMIT $4 + 1) b
  WHERE NOT EXISTS (SELECT FROM archived_books a WHERE a.job = e.id AND a.is_forgotten)
  ORDER BY r.n, b.seq LIMIT $4) AS found
WHERE before < $5
