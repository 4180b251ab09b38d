-- ?1 job number
DELETE FROM inbox WHERE job = ?1 AND kind = 'branch'
