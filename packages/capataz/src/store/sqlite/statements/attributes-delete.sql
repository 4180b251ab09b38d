-- ?1 job id
DELETE FROM attributes WHERE job_id = ?1
