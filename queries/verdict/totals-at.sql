-- @name   verdict.totals_at
-- @title  Reserved and active memory of a device after one entry of its trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    reserved_bytes BIGINT
-- @col    active_bytes   BIGINT  actual sizes, pending frees included
-- @why    The gap between the two is compared between ranks.
SELECT
  coalesce((SELECT sum(total_bytes) FROM segments_at($snapshot_id, $device, $at_seq) AS segment), 0)::BIGINT AS reserved_bytes,
  coalesce((SELECT sum(actual_bytes) FROM live_at($snapshot_id, $device, $at_seq) AS live), 0)::BIGINT AS active_bytes
LIMIT 1
