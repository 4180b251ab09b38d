-- ?1 name, ?2 version, ?3 graph, ?4 at. Result: the graph of the first offer.
INSERT INTO blueprints (name, version, graph, offered_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (name, version) DO UPDATE SET offered_at = ?4 RETURNING graph
