-- Which of these signals a job has taken, open or ended.
-- ?1 job id, ?2 JSON list of signal ids
SELECT s.id FROM seen s
WHERE s.job = coalesce((SELECT n FROM jobs WHERE id = ?1), (SELECT n FROM ended_jobs WHERE id = ?1))
  AND s.id IN (SELECT value FROM json_each(?2))
