-- $1 the instant of a test or null, $2 name, $3 version, $4 graph. Result: the graph of the first offer.
INSERT INTO blueprints (name, version, graph, offered_at) VALUES ($2, $3, $4, store_now($1))
ON CONFLICT (name, version) DO UPDATE SET offered_at = excluded.offered_at RETURNING graph
