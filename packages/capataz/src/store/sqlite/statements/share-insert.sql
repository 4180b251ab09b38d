-- ?1 key, ?2 job number, ?3 amount, ?4 expiry, ?5 whether it ends with the wait
INSERT INTO reservations (key, job, amount, expires_at, until_wait) VALUES (?1, ?2, ?3, ?4, ?5)
