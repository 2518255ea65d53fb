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
WITH layout AS (
  SELECT *, count(block) OVER each AS live_blocks, sum(bytes) OVER each AS live_bytes
  FROM layout_at(snapshot_key, device_no, at_seq) AS layout
  WINDOW each AS (PARTITION BY segment_address))
SELECT
  free_address AS address, free_bytes AS bytes, segment_address, segment_bytes, segment_type, stream, pool, is_private, is_expandable,
  live_blocks, live_bytes::BIGINT AS live_bytes, releasable_bytes,
  CASE WHEN is_private THEN 'private_pool' WHEN segment_type = 'small' THEN 'small_pool'
    WHEN releasable_bytes = free_bytes THEN 'releasable' WHEN is_expandable = 1 THEN 'page_pinned' ELSE 'between_live_blocks' END AS reason
FROM layout
WHERE free_bytes > 0
