-- Locks ended jobs, so that the sequence of a book has no gaps.
-- $1 job ids
SELECT id FROM ended_jobs WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE
