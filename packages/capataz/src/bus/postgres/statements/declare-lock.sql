-- One declaration at a time, so that bindings become visible in the order of their ids.
LOCK TABLE bindings IN SHARE ROW EXCLUSIVE MODE
