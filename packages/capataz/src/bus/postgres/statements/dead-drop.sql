-- $1 position of a dead letter
DELETE FROM entries WHERE position = $1 AND reason IS NOT NULL
