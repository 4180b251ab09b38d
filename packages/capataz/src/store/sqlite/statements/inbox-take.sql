-- ?1 job number, ?2 id
DELETE FROM inbox WHERE job = ?1 AND id = ?2
