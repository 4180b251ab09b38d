-- The store's instant, which the statements of the same transaction go by.
-- $1 the instant of a test or null
SELECT set_config('capataz.at', store_now($1)::text, true)::bigint AS at
