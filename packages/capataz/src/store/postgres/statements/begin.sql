-- The instant that the commit stamps, and where places in lines and hand-outs go on.
-- $1 the instant of a test or null, $2 whether jobs may wait for shares, $3 whether there are claims
SELECT set_config('capataz.at', store_now($1)::text, true)::bigint AS at,
  CASE WHEN $2 THEN nextval('places') ELSE 0 END AS places,
  CASE WHEN $3 THEN nextval('hand_outs') ELSE 0 END AS hand_outs
