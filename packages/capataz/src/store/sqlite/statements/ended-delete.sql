-- ?1 ordinal
DELETE FROM ended_jobs WHERE ordinal = ?1
