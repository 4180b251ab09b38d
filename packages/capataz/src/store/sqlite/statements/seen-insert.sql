-- ?1 job number, ?2 id
INSERT OR IGNORE INTO seen (job, id) VALUES (?1, ?2)
