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
-- @col    releasable_bytes BIGINT   what a flush of the cache gives back: a wholly free segment, whole pages of an expandable one
-- @col    reason          VARCHAR   private_pool, small_pool, releasable, or why it stays: page_pinned, between_live_blocks
-- @why    Torch joins neighbouring free blocks, so every gap between active blocks of a segment is one free block. A request can have a
--         block only of its own stream, pool and class of size; oom_hole names the reason against a failed request. An expandable
--         segment is mapped in pages of 2 MiB (small) or 20 MiB (large, configurable), and a page with a live block stays mapped.
WITH gap AS (
  SELECT segment_address, address, free_bytes, (address - segment_address)::BIGINT + bytes AS from_byte,
    count(block) OVER each AS live_blocks, sum(bytes) OVER each AS live_bytes
  FROM layout_at(snapshot_key, device_no, at_seq) AS layout
  WINDOW each AS (PARTITION BY segment_address)),
hole AS (
  SELECT
    least(segment.address::HUGEINT + gap.from_byte, 18446744073709551615)::UBIGINT AS address, gap.free_bytes AS bytes,
    segment.address AS segment_address,
    segment.total_bytes AS segment_bytes, segment.segment_type, segment.stream, segment.pool,
    (pool.pool_id_a <> 0 OR pool.pool_id_b <> 0) IS TRUE AS is_private, segment.is_expandable, gap.live_blocks,
    gap.live_bytes::BIGINT AS live_bytes, gap.from_byte,
    CASE WHEN segment.segment_type = 'small' THEN 2097152 ELSE history.large_segment_bytes END AS page_bytes
  FROM gap
  JOIN segments_at(snapshot_key, device_no, at_seq) AS segment ON segment.address = gap.segment_address
  JOIN derived_history AS history ON history.snapshot_id = snapshot_key AND history.device = device_no
  LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = snapshot_key AND pool.pool = segment.pool
  WHERE gap.free_bytes > 0),
released AS (
  SELECT *,
    CASE WHEN is_expandable = 1
      THEN greatest(0, (from_byte + bytes) // page_bytes * page_bytes - (from_byte + page_bytes - 1) // page_bytes * page_bytes)
    WHEN bytes = segment_bytes THEN bytes ELSE 0 END AS releasable_bytes
  FROM hole)
SELECT
  address, bytes, segment_address, segment_bytes, segment_type, stream, pool, is_private, is_expandable, live_blocks, live_bytes,
  releasable_bytes,
  CASE WHEN is_private THEN 'private_pool' WHEN segment_type = 'small' THEN 'small_pool' WHEN releasable_bytes = bytes THEN 'releasable'
    WHEN is_expandable = 1 THEN 'page_pinned' ELSE 'between_live_blocks' END AS reason
FROM released
