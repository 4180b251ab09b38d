-- Result: whether a partition was dropped.
SELECT drop_empty_history() AS dropped
