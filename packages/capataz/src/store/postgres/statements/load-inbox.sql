-- What lies in inboxes, without the bodies, in the order of arrival. Of branches, which may be many, only
-- those that are named, or all where they are given up.
-- $1 job ids, $2 ids of jobs whose branches are needed, $3 ids of items that are taken or posted, $4 addresses
SELECT x.n, x.job, x.id, x.kind, x.name, x.expires_at FROM inbox x
WHERE x.job = ANY (ARRAY(
    SELECT unnest($1::text[]) UNION SELECT a.job FROM addresses a WHERE a.address = ANY ($4::text[])))
  AND (x.kind <> 'branch' OR x.job = ANY ($2::text[]) OR x.id = ANY ($3::text[]))
ORDER BY x.n
