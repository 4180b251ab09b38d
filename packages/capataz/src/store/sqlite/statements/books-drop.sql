-- ?1 positions as JSON
DELETE FROM history WHERE position IN (SELECT value FROM json_each(?1))
