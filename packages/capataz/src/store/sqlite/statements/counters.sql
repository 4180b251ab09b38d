SELECT name, value FROM counters
