-- New tasks, in the order of their arrival.
-- One array a column.
INSERT INTO tasks (id, job, status, attempts, failures, queued, attempt_id, worker, incarnation,
  assigned_at, hand_out, lost_runs, timers, due_at, class, class_key, rank, spec)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[],
  $7::text[], $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[],
  $14::bigint[], $15::text[], $16::text[], $17::bigint[], $18::text[])
