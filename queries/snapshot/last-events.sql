-- @name   snapshot.last_events
-- @title  The trace entries of one device before one of them, last first
-- @param  snapshot_id INTEGER
-- @param  device  INTEGER
-- @param  before_seq INTEGER
-- @param  count   INTEGER  at most so many
-- @col    seq        INTEGER
-- @col    action     ENUM
-- @col    addr       UBIGINT?
-- @col    size_bytes BIGINT   requested on alloc and free, segment bytes on segment entries
-- @col    time_us    BIGINT?
-- @why    A flush just before an OOM shows what it waited for, and an OOM near the end of a long trace must not read all of it.
SELECT seq, action, addr, size_bytes, time_us
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq < $before_seq AND seq >= $before_seq - $count
ORDER BY seq DESC
