-- $1 ids of jobs, $2 sequences up to which their books lie in the archive
INSERT INTO archived_books (job, seq, is_forgotten)
SELECT job, seq, NOT EXISTS (SELECT FROM ended_jobs e WHERE e.id = job)
FROM unnest($1::text[], $2::bigint[]) AS r (job, seq)
ON CONFLICT (job) DO UPDATE SET seq = greatest(archived_books.seq, excluded.seq)
