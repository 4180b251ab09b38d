-- Everything that any name listens to.
-- → id, name, exchange, pattern
SELECT id, name, exchange, pattern FROM bindings ORDER BY id
