-- ?1 name, ?2 handled as it was read; each null where it stays: ?3 handled, ?4 recent, ?5 paused (0, 1);
-- ?6 who paused or resumed, ?7 at
UPDATE schedules SET
  handled = iif(?5 = 0, ifnull(?3, handled), max(handled, ifnull(?3, handled))),
  recent = ifnull(?4, recent),
  changed_by = iif(?5 IS NULL OR ?5 = (paused_at IS NOT NULL), changed_by, ?6),
  resumed_at = iif(?5 = 0 AND paused_at IS NOT NULL, ?7, resumed_at),
  paused_at = CASE ?5 WHEN 1 THEN ifnull(paused_at, ?7) WHEN 0 THEN NULL ELSE paused_at END
WHERE name = ?1 AND handled = ?2
