-- ?1 key, ?2 job number, ?3 amount, ?4 expiry
INSERT INTO reservations (key, job, amount, expires_at) VALUES (?1, ?2, ?3, ?4)
