-- One instance at a time forgets: how many are too many is counted before they are locked.
SELECT pg_advisory_xact_lock(hashtext(current_schema()), 4096)
