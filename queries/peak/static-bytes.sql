-- @name   peak.static_bytes
-- @title  Allocated blocks of the dump, on any device, at addresses that one device's trace never names
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER  the device of the trace
-- @col    bytes BIGINT  actual
-- @why    mosaic calls this static memory. On several devices it counts all but the traced one's traced blocks.
SELECT coalesce(sum(size_bytes), 0)::BIGINT AS bytes
FROM block
WHERE snapshot_id = $snapshot_id AND state = 'active_allocated'
  AND address NOT IN (SELECT addr FROM event WHERE snapshot_id = $snapshot_id AND device = $device AND addr IS NOT NULL)
LIMIT 1
