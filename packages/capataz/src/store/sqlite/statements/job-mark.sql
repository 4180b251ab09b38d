-- Another table knows the job from now on.
-- ?1 number, ?2 bits
UPDATE jobs SET beside = beside | ?2 WHERE n = ?1
