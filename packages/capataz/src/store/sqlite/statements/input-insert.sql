-- The unchanging part of a new job. The rowid becomes its number.
-- ?1 id, ?2 client, ?3 input, ?4 fixed
INSERT INTO inputs (id, client, input, fixed) VALUES (?1, ?2, ?3, ?4)
