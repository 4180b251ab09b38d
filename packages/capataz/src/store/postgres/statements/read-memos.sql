-- $1 job id
SELECT name, value FROM memos WHERE job = $1
