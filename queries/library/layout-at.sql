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
-- @col    free_bytes      BIGINT    up to the next live block, or the end of the segment
-- @why    Torch joins neighbouring free blocks, so every gap between active blocks of a segment is one free block. One sort by address
--         gives blocks their segments and their gaps.
WITH item AS (
  SELECT address, NULL AS segment_address, NULL AS segment_end, block, actual_bytes AS bytes, state = 'active_pending_free' AS is_pending
  FROM live_at(snapshot_key, device_no, at_seq) AS live
  UNION ALL
  SELECT address, address, address::HUGEINT + total_bytes, NULL, 0, false FROM segments_at(snapshot_key, device_no, at_seq) AS segment),
placed AS (
  SELECT address, block, bytes, is_pending, max(segment_address) OVER upwards AS segment_address,
    max(segment_end) OVER upwards AS segment_end, lead(address) OVER upwards AS next_address
  FROM item
  WINDOW upwards AS (ORDER BY address, block NULLS FIRST ROWS UNBOUNDED PRECEDING))
SELECT
  segment_address, address, block, bytes, is_pending,
  greatest(0, least(coalesce(next_address::HUGEINT, segment_end), segment_end) - address::HUGEINT - bytes)::BIGINT AS free_bytes
FROM placed
WHERE address < segment_end
