-- ?1 id, ?2 incarnation
DELETE FROM workers WHERE id = ?1 AND worker ->> 'incarnation' = ?2
