-- Up to where nothing can become visible late.
SELECT visible_position() AS position
