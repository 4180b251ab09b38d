-- An ended job. Parameters in the order of the columns.
INSERT INTO ended_jobs (n, id, version, client, blueprint, blueprint_version, status, state, entry, hops,
  failures, held, created_at, entered_at, ended_at, rest, data)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
