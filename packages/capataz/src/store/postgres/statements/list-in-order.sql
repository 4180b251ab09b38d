-- Until the server has statistics it takes a client's jobs for few, and sorts all of them to find the newest:
-- 44 ms instead of 0.1 among 20,000.
SELECT set_config('enable_sort', 'off', true)
