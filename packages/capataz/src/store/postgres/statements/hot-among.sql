-- Which of these jobs are open or quarantined.
-- $1 job ids
SELECT id FROM jobs WHERE id = ANY ($1::text[])
