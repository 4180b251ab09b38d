-- $1 job ids, $2 sequences, $3 how many entries, $4 the entries
INSERT INTO history (position, job, seq, at, count, entries)
SELECT nextval('positions'), job, seq, stamp(), count, entries
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS r (job, seq, count, entries)
