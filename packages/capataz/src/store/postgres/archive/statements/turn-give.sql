SELECT pg_advisory_unlock(hashtextextended('capataz archive ' || current_schema(), 0))
