-- Where these tables lie: which server since when, which database, which schema.
SELECT pg_postmaster_start_time() || ' ' || d.oid || ' ' || current_schema()::regnamespace::oid AS place
FROM pg_database d WHERE d.datname = current_database()
