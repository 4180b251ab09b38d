-- Entries of one commit of a job.
-- ?1 position, ?2 job number, ?3 sequence of the last of them, ?4 at, ?5 how many, ?6 entries
INSERT INTO history (position, job, seq, at, count, entries) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
