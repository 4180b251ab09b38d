-- Where time, positions and hand-outs go on.
SELECT
  max(coalesce((SELECT value FROM counters WHERE name = 'time'), 0),
      coalesce((SELECT at FROM history ORDER BY position DESC LIMIT 1), 0)) AS time,
  max(coalesce((SELECT value FROM counters WHERE name = 'position'), 0),
      coalesce((SELECT max(position) FROM history), 0)) AS position,
  coalesce((SELECT max(hand_out) FROM tasks), 0) AS hand_outs
