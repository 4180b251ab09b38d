-- ?1 key
SELECT id FROM classes WHERE key = ?1
