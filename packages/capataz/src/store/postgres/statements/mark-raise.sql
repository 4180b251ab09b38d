-- $1 name, $2 value
INSERT INTO marks (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = greatest(marks.value, $2)
