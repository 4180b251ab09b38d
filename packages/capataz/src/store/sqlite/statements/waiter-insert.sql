-- ?1 key, ?2 job number
INSERT INTO waiters (key, job) VALUES (?1, ?2)
