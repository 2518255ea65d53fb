-- @name   library.pools_at
-- @kind   macro
-- @title  Reserved, live and free memory of a device by pool, class of size and stream, after one entry of its trace
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    pool          INTEGER?
-- @col    pool_id       VARCHAR  torch's pair, (0,0) is the default pool; unknown where nothing names it
-- @col    segment_type  ENUM
-- @col    stream        BIGINT?
-- @col    is_expandable UTINYINT
-- @col    segments      BIGINT
-- @col    reserved_bytes HUGEINT
-- @col    live_bytes    HUGEINT
-- @col    live_blocks   HUGEINT
-- @col    free_bytes    HUGEINT
-- @col    largest_free_bytes BIGINT?
-- @why    What one request can and cannot use. The sums over all rows are reserved, live and free memory of the device.
WITH segment AS (SELECT * FROM segments_at(snapshot_key, device_no, at_seq) AS segment),
hole AS (
  SELECT segment_address, sum(bytes) AS free_bytes, max(bytes) AS largest
  FROM free_at(snapshot_key, device_no, at_seq) AS hole GROUP BY segment_address),
held AS (
  SELECT segment.address, count(*) AS live_blocks, sum(live.actual_bytes) AS live_bytes
  FROM live_at(snapshot_key, device_no, at_seq) AS live ASOF JOIN segment ON live.address >= segment.address
  GROUP BY segment.address)
SELECT
  segment.pool, coalesce('(' || pool.pool_id_a || ',' || pool.pool_id_b || ')', 'unknown') AS pool_id, segment.segment_type, segment.stream,
  segment.is_expandable, count(*) AS segments, sum(segment.total_bytes) AS reserved_bytes,
  coalesce(sum(held.live_bytes), 0)::HUGEINT AS live_bytes, coalesce(sum(held.live_blocks), 0)::HUGEINT AS live_blocks,
  coalesce(sum(hole.free_bytes), 0)::HUGEINT AS free_bytes, max(hole.largest) AS largest_free_bytes
FROM segment
LEFT JOIN hole ON hole.segment_address = segment.address
LEFT JOIN held ON held.address = segment.address
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = segment.pool
GROUP BY ALL
