-- ?1 at
UPDATE jobs SET lease_until = ?1 WHERE lease_until > ?1
