-- $1 job ids, $2 keys of shares, $3 addresses. Result: all keys of shares that are locked.
SELECT lock_keys($1, $2, $3) AS keys
