-- ?1 job id, ?2 token, ?3 new end
UPDATE jobs SET lease_until = ?3 WHERE id = ?1 AND lease_token = ?2
