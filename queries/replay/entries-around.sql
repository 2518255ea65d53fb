-- @name   replay.entries_around
-- @title  Entries of a trace around one of them
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER
-- @param  to_seq   INTEGER
-- @col    seq        INTEGER
-- @col    action     VARCHAR
-- @col    addr       UBIGINT?
-- @col    size_bytes BIGINT
-- @col    stream     BIGINT?
-- @why    A mismatch is understood from the entries before and after it.
SELECT seq, action::VARCHAR AS action, addr, size_bytes, stream
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq BETWEEN $from_seq AND $to_seq
ORDER BY seq
