-- @name   library.free_at
-- @kind   macro
-- @title  Free blocks inside the segments of a device after one entry of its trace
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    address         UBIGINT
-- @col    bytes           BIGINT
-- @col    segment_address UBIGINT
-- @col    segment_bytes   BIGINT
-- @col    segment_type    ENUM
-- @col    stream          BIGINT?
-- @col    pool            INTEGER?
-- @col    is_private      BOOLEAN   in another pool than the default one
-- @col    is_expandable   UTINYINT
-- @col    live_blocks     BIGINT    active blocks that pin the segment; 0: it could be given back to the driver
-- @col    live_bytes      BIGINT    their actual sizes
-- @why    A request can have a block only of its own stream, pool and class of size.
WITH gap AS (
  SELECT segment_address, address + bytes::UBIGINT AS address, free_bytes, count(block) OVER each AS live_blocks,
    sum(bytes) OVER each AS live_bytes
  FROM layout_at(snapshot_key, device_no, at_seq) AS layout
  WINDOW each AS (PARTITION BY segment_address))
SELECT
  gap.address, gap.free_bytes AS bytes, segment.address AS segment_address,
  segment.total_bytes AS segment_bytes, segment.segment_type, segment.stream, segment.pool,
  (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0) IS TRUE AS is_private, segment.is_expandable, gap.live_blocks,
  gap.live_bytes::BIGINT AS live_bytes
FROM gap
JOIN segments_at(snapshot_key, device_no, at_seq) AS segment ON segment.address = gap.segment_address
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = segment.pool
WHERE gap.free_bytes > 0
