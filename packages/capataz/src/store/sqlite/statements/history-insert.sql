-- Entries of one commit of a job; the sequence goes on without a gap.
-- ?1 position, ?2 job number, ?3 count, ?4 at, ?5 entries
INSERT INTO history (position, job, seq, at, count, entries)
SELECT ?1, ?2, coalesce(max(seq), 0) + ?3, ?4, ?3, ?5 FROM history WHERE job = ?2
