-- Forgets classes without tasks.
DELETE FROM classes WHERE id NOT IN (SELECT class FROM tasks)
