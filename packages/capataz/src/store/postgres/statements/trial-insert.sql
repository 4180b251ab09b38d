-- Something that can't be made smaller and that nobody reads, in a job that there is never.
INSERT INTO memos (job, name, value)
SELECT '', gen_random_uuid()::text, string_agg(md5(random()::text), '') FROM generate_series(1, 250)
