-- Tells the other instances that something was committed.
-- $1 who has written
SELECT pg_notify(current_schema(), $1)
