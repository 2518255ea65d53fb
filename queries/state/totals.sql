-- @name   state.totals
-- @title  What the live blocks and the segments of a device add up to after one entry of its trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    segments         BIGINT
-- @col    reserved_bytes   BIGINT
-- @col    blocks           BIGINT  live ones
-- @col    active_bytes     BIGINT  actual sizes
-- @col    pending_bytes    BIGINT  of it freed, and still used by a stream
-- @col    requested_bytes  BIGINT  where they were recorded
-- @col    rounding_bytes   BIGINT  what these blocks have beyond it
-- @col    uncertain_blocks BIGINT  blocks whose size is only bounded
-- @col    uncertain_bytes  BIGINT  how much larger they may be
-- @why    The first line of every answer about a moment.
SELECT segment.*, live.*
FROM (
  SELECT count(*) AS segments, coalesce(sum(total_bytes), 0)::BIGINT AS reserved_bytes
  FROM segments_at($snapshot_id, $device, $at_seq)) AS segment
CROSS JOIN (
  SELECT count(*) AS blocks, coalesce(sum(actual_bytes), 0)::BIGINT AS active_bytes,
    coalesce(sum(actual_bytes) FILTER (state = 'active_pending_free'), 0)::BIGINT AS pending_bytes,
    coalesce(sum(requested_bytes), 0)::BIGINT AS requested_bytes,
    coalesce(sum(actual_bytes - requested_bytes), 0)::BIGINT AS rounding_bytes,
    count(*) FILTER (most_bytes > least_bytes) AS uncertain_blocks, coalesce(sum(most_bytes - least_bytes), 0)::BIGINT AS uncertain_bytes
  FROM live_at($snapshot_id, $device, $at_seq)) AS live
LIMIT 1
