-- One instance at a time moves books here. It ends with the connection.
SELECT pg_try_advisory_lock(hashtextextended('capataz archive ' || current_schema(), 0)) AS taken
