-- Tells the other instances, once the commit is visible.
-- $1 who has written
SELECT pg_notify(current_schema(), $1)
