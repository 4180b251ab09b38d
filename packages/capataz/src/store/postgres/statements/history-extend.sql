-- Makes a partition ahead, if there is none.
-- $1 and $2 how many positions it has at least, and at most
SELECT extend_history($1, $2)
