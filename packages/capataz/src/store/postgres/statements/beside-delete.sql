-- What only open jobs have: their tasks, memos, inboxes and addresses. What they held has its own way.
-- $1 job ids
WITH tasks_gone AS (DELETE FROM tasks WHERE job = ANY ($1::text[])),
  memos_gone AS (DELETE FROM memos WHERE job = ANY ($1::text[])),
  inbox_gone AS (DELETE FROM inbox WHERE job = ANY ($1::text[]))
DELETE FROM addresses WHERE job = ANY ($1::text[])
