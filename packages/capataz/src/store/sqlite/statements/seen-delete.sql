-- ?1 job number
DELETE FROM seen WHERE job = ?1
