-- The result of a branch.
-- ?1 job number, ?2 task id, ?3 name, ?4 body
INSERT INTO inbox (job, id, kind, name, body) VALUES (?1, ?2, 'branch', ?3, ?4)
