-- Jobs that have ended.
-- $1 job ids
DELETE FROM jobs WHERE id = ANY ($1::text[])
