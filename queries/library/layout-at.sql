-- @name   library.layout_at
-- @kind   macro
-- @title  The segments of a device after one entry of its trace: each start and each live block, with the free block behind it
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    segment_address UBIGINT
-- @col    address         UBIGINT
-- @col    block           INTEGER?  NULL: the start of the segment
-- @col    bytes           BIGINT    actual size of the block; 0 at the start
-- @col    is_pending      BOOLEAN   freed, and still used by a stream
-- @col    free_address    UBIGINT   where the free block behind it begins
-- @col    free_bytes      BIGINT    up to the next live block, or the end of the segment
-- @col    releasable_bytes BIGINT   of them, what a flush of the cache gives back to the driver
-- @col    segment_bytes   BIGINT
-- @col    segment_type    ENUM
-- @col    stream          BIGINT?
-- @col    pool            INTEGER?
-- @col    is_private      BOOLEAN   of a CUDA graph or a MemPool
-- @col    is_expandable   UTINYINT
-- @why    Torch joins neighbouring free blocks, so every gap between active blocks of a segment is one free block. One sort by address
--         gives blocks their segments and their gaps. A flush gives back a wholly free cudaMalloc segment, and whole pages of a free range
--         of an expandable one: 2 MiB (small) or 20 MiB (large, configurable), counted from the start of the mapped run; a run whose head
--         was unmapped may be off by part of a page. Private pools give nothing back while a graph or handle refers to them, which no
--         snapshot shows.
WITH item AS (
  SELECT address, NULL AS segment_address, NULL AS segment_end, block, actual_bytes AS bytes, state = 'active_pending_free' AS is_pending
  FROM live_at(snapshot_key, device_no, at_seq) AS live
  UNION ALL
  SELECT address, address, address::HUGEINT + total_bytes, NULL, 0, false FROM segments_at(snapshot_key, device_no, at_seq) AS segment),
placed AS (
  SELECT address, block, bytes, is_pending, max(segment_address) OVER upwards AS segment_address,
    max(segment_end) OVER upwards AS segment_end, lead(address) OVER upwards AS next_address
  FROM item
  WINDOW upwards AS (ORDER BY address, block NULLS FIRST ROWS UNBOUNDED PRECEDING)),
part AS (
  SELECT segment_address, address, block, bytes, is_pending, address::HUGEINT - segment_address + bytes AS from_byte,
    greatest(0, least(coalesce(next_address::HUGEINT, segment_end), segment_end) - address::HUGEINT - bytes)::BIGINT AS free_bytes
  FROM placed
  WHERE address < segment_end),
owned AS (
  SELECT part.*, segment.total_bytes AS segment_bytes, segment.segment_type, segment.stream, segment.pool,
    (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0) IS TRUE AS is_private, segment.is_expandable,
    CASE WHEN segment.segment_type = 'small' THEN 2097152 ELSE history.large_segment_bytes END AS page_bytes
  FROM part
  JOIN segments_at(snapshot_key, device_no, at_seq) AS segment ON segment.address = part.segment_address
  JOIN derived_history AS history ON history.snapshot_id = snapshot_key AND history.device = device_no
  LEFT JOIN (SELECT * FROM snapshot_pool WHERE snapshot_id = snapshot_key) AS pool ON pool.pool = segment.pool)
SELECT
  segment_address, address, block, bytes, is_pending, least(segment_address + from_byte, 18446744073709551615)::UBIGINT AS free_address,
  free_bytes,
  CASE WHEN is_private THEN 0
    WHEN is_expandable = 1
      THEN greatest(0, (from_byte + free_bytes) // page_bytes * page_bytes - (from_byte + page_bytes - 1) // page_bytes * page_bytes)
    WHEN free_bytes = segment_bytes THEN free_bytes ELSE 0 END::BIGINT AS releasable_bytes,
  segment_bytes, segment_type, stream, pool, is_private, is_expandable
FROM owned
