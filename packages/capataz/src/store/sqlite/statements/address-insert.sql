-- ?1 client, ?2 key, ?3 job number
INSERT OR IGNORE INTO addresses (client, key, job) VALUES (?1, ?2, ?3)
