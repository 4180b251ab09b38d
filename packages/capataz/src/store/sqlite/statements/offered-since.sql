-- ?1 name, ?2 version, ?3 instant
SELECT 1 AS found FROM blueprints WHERE name = ?1 AND version = ?2 AND offered_at >= ?3
