-- ?1 job number
DELETE FROM memos WHERE job = ?1
