-- ?1 at, ?2 the new end
UPDATE workers SET silent_at = ?2 WHERE silent_at <= ?1
