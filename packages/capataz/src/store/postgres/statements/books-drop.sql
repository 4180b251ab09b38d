-- $1 positions
DELETE FROM history h USING unnest($1::bigint[]) AS r (position) WHERE h.position = r.position
