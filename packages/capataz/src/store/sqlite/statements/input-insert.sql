-- The unchanging part of a new job. The rowid becomes its number.
-- ?1 id, ?2 client, ?3 correlation, ?4 input, ?5 fixed
INSERT INTO inputs (id, client, correlation, input, fixed) VALUES (?1, ?2, ?3, ?4, ?5)
