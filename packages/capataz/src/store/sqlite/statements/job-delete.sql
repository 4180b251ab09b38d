-- An ended job leaves the hot table.
-- ?1 number
DELETE FROM jobs WHERE n = ?1
