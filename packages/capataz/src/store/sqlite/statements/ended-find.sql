-- Whether a job of this id has ended.
-- ?1 id. Result: its number.
SELECT n FROM ended_jobs WHERE id = ?1
