-- ?1 job number, ?2 name, ?3 value
INSERT OR REPLACE INTO memos (job, name, value) VALUES (?1, ?2, ?3)
