-- A job's place among all who wait.
-- ?1 job number
SELECT place FROM waiters WHERE job = ?1
