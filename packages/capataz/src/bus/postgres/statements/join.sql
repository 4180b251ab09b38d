-- A new consumer. $1 its id, $2 name, $3 ms of its lease
INSERT INTO consumers (id, name, lease_until)
VALUES ($1, $2, clock_timestamp() + $3::double precision * interval '1 ms')
