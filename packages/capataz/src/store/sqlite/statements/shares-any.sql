-- Whether anything is reserved at all.
SELECT 1 AS found FROM reservations LIMIT 1
