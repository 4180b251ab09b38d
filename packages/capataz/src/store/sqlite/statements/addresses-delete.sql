-- ?1 job number
DELETE FROM addresses WHERE job = ?1
