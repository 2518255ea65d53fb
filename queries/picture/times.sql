-- @name   picture.times
-- @title  Times of a list of entries
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  seqs VARCHAR  5,90
-- @col    seq     INTEGER
-- @col    time_us BIGINT?
-- @why    The axis of time needs one time for each column.
SELECT event.seq, event.time_us
FROM (SELECT unnest(string_split($seqs, ',')::INTEGER[]) AS seq) AS list
JOIN event ON event.seq = list.seq AND event.snapshot_id = $snapshot_id AND event.device = $device
ORDER BY event.seq
