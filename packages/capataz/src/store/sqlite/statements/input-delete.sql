-- ?1 job number
DELETE FROM inputs WHERE n = ?1
