-- $1 JSON rows
INSERT INTO history (position, job, seq, at, count, entries)
SELECT nextval('positions'), job, seq, stamp(), count, entries
FROM json_to_recordset($1::json) AS r (job text, seq bigint, count integer, entries text)
