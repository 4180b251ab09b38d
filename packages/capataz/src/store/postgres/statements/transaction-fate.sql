-- What has become of a transaction; null where it is too long ago. One that goes on is waited for a little.
-- $1 its id
SELECT CASE WHEN pg_xact_status($1::xid8) = 'in progress' AND pg_sleep(0.1) IS NOT NULL
  THEN pg_xact_status($1::xid8) ELSE pg_xact_status($1::xid8) END AS fate
