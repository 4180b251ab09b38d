-- ?1 name, ?2 value, ?3 job id
INSERT INTO attributes (name, value, job_id) VALUES (?1, ?2, ?3)
