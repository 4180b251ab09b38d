-- The beginnings of books go.
-- $1 and $2 job ids and last sequences of what goes
DELETE FROM history h USING unnest($1::text[], $2::bigint[]) AS r (job, seq) WHERE h.job = r.job AND h.seq <= r.seq
