-- @name   peak.frees_after
-- @title  Frees of one device after an entry
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  after_seq   INTEGER  -1 = from the first
-- @param  action      VARCHAR  free_completed, or free_requested where completions were not recorded
-- @col    seq     INTEGER
-- @col    addr    UBIGINT?
-- @col    time_us BIGINT?
-- @why    The first free of a live block's address after the moment is that block's own.
SELECT seq, addr, time_us
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND seq > $after_seq AND action = CAST($action AS trace_action)
ORDER BY seq
