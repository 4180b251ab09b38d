-- $1 and $2 job ids and task ids
DELETE FROM tasks USING unnest($1::text[], $2::text[]) AS r (job, id) WHERE tasks.job = r.job AND tasks.id = r.id
