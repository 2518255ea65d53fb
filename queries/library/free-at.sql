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
-- @why    Torch joins neighbouring free blocks, so every gap between active blocks of a segment is one free block. A request can have a
--         block only of its own stream, pool and class of size.
WITH segment AS (SELECT * FROM segments_at(snapshot_key, device_no, at_seq) AS segment),
live AS (SELECT address, actual_bytes FROM live_at(snapshot_key, device_no, at_seq) AS live),
placed AS (
  SELECT segment.address AS segment_address, segment.address::HUGEINT + segment.total_bytes AS segment_end,
    live.address::HUGEINT AS address,
    live.actual_bytes
  FROM live ASOF JOIN segment ON live.address >= segment.address
  WHERE live.address < segment.address + segment.total_bytes::UBIGINT),
held AS (SELECT segment_address, count(*) AS live_blocks, sum(actual_bytes) AS live_bytes FROM placed GROUP BY segment_address),
gap AS (
  SELECT segment_address, address + actual_bytes AS from_address,
    lead(address, 1, segment_end) OVER (PARTITION BY segment_address ORDER BY address) AS to_address
  FROM placed
  UNION ALL
  SELECT segment_address, segment_address::HUGEINT, min(address) FROM placed GROUP BY segment_address
  UNION ALL
  SELECT segment.address, segment.address::HUGEINT, segment.address::HUGEINT + segment.total_bytes
  FROM segment ANTI JOIN held ON held.segment_address = segment.address)
SELECT
  gap.from_address::UBIGINT AS address, (gap.to_address - gap.from_address)::BIGINT AS bytes, segment.address AS segment_address,
  segment.total_bytes AS segment_bytes, segment.segment_type, segment.stream, segment.pool,
  (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0) IS TRUE AS is_private, segment.is_expandable,
  coalesce(held.live_blocks, 0) AS live_blocks, coalesce(held.live_bytes, 0)::BIGINT AS live_bytes
FROM gap
JOIN segment ON segment.address = gap.segment_address
LEFT JOIN held ON held.segment_address = gap.segment_address
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = segment.pool
WHERE gap.to_address > gap.from_address
