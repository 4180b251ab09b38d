-- ?1 id of a job, ?2 sequence up to which its book lies in the archive
INSERT INTO archived_books (job, seq, is_forgotten)
VALUES (?1, ?2, NOT EXISTS (SELECT 1 FROM ended_jobs WHERE id = ?1))
ON CONFLICT (job) DO UPDATE SET seq = max(seq, ?2)
