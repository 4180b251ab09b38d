-- Which of these jobs are open or quarantined.
-- ?1 JSON list of ids
SELECT id FROM jobs WHERE id IN (SELECT value FROM json_each(?1))
