-- ?1 key, ?2 class. Result: its number, old or new.
INSERT INTO classes (key, class) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET key = key RETURNING id
