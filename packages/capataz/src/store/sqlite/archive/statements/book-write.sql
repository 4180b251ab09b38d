-- A row that is there already is passed over. Changes nothing where another one has its position.
-- ?1 position, ?2 job id, ?3 sequence, ?4 at, ?5 how many, ?6 entries, ?7 client, ?8 correlation id
INSERT INTO books (position, job, seq, at, count, entries, client, correlation)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (position) DO UPDATE SET seq = excluded.seq WHERE job = excluded.job AND seq = excluded.seq
