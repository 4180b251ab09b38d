-- Which of these workers are known.
-- ?1 JSON list of ids
SELECT id FROM workers WHERE id IN (SELECT value FROM json_each(?1))
