-- @name   peak.header_sums
-- @title  Sums of the segment headers of a snapshot, all devices
-- @param  snapshot_id INTEGER
-- @col    segments        BIGINT
-- @col    total_bytes     BIGINT
-- @col    allocated_bytes BIGINT
-- @col    active_bytes    BIGINT
-- @why    Bridge's scripts add up the headers, not the blocks. Never used in our own accounting: headers can be wrong.
SELECT
  count(*) AS segments, coalesce(sum(total_bytes), 0)::BIGINT AS total_bytes,
  coalesce(sum(allocated_header_bytes), 0)::BIGINT AS allocated_bytes, coalesce(sum(coalesce(active_header_bytes, allocated_header_bytes)),
    0)::BIGINT AS active_bytes
FROM segment
WHERE snapshot_id = $snapshot_id
LIMIT 1
