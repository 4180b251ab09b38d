-- $1 job ids
DELETE FROM memos WHERE job = ANY ($1::text[])
