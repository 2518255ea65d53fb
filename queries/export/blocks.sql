-- @name   export.blocks
-- @title  Blocks of some segments as JSON text, without frames and their closing brace
-- @param  snapshot_id INTEGER
-- @param  from_segment  INTEGER  first
-- @param  to_segment    INTEGER  one past the last
-- @param  device        INTEGER? only this one
-- @param  has_address   BOOLEAN  torch 2.1 and newer write it
-- @param  has_requested BOOLEAN  and this
-- @param  has_history   BOOLEAN  what older ones write instead
-- @col    segment  INTEGER
-- @col    stack_id INTEGER? NULL if the block lacks the key frames
-- @col    head     VARCHAR
-- @col    history  VARCHAR? the beginning of its history entry, where it has one
-- @why    The requested size of an inactive block is a left-over of an earlier user, written as it was read. It is 0 in stores that were
--         filled before version 15.
SELECT
  segment, stack_id,
  concat(
    '{', CASE WHEN $has_address THEN '"address":' || address || ',' END,
    '"size":', size_bytes,
    CASE WHEN $has_requested
      THEN ',"requested_size":' || CASE WHEN state = 'inactive' THEN coalesce(left_over_bytes, 0) ELSE requested_bytes END END,
    ',"state":"', state::VARCHAR, '"'
  ) AS head,
  CASE WHEN $has_history AND state <> 'inactive' AND requested_bytes IS NOT NULL THEN concat('{"addr":', address, ',"real_size":',
    requested_bytes) END AS history
FROM block
WHERE snapshot_id = $snapshot_id AND segment >= $from_segment AND segment < $to_segment AND ($device IS NULL OR device = $device)
ORDER BY segment, block.rowid
