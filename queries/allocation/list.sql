-- @name   allocation.list
-- @title  Allocations of one device as rows
-- @param  snapshot_id INTEGER
-- @param  device    INTEGER
-- @param  at_seq    INTEGER?  only those live after this entry; -1 = before the first
-- @param  address   UBIGINT?
-- @param  min_bytes BIGINT?
-- @param  site      VARCHAR?  only stacks with this text in a frame
-- @param  sort      VARCHAR   bytes, lifetime or entry
-- @param  count     INTEGER   at most so many
-- @of     allocation: address origin alloc_seq free_requested_seq free_completed_seq requested_bytes alloc_us free_us lifetime_us
--         lifetime_entries stream pool stack_id stack_origin
-- @col    actual_bytes       BIGINT?  of the block, with rounding and what a split left on it
-- @col    uncertain_bytes    BIGINT?  by how much it may be larger
-- @col    site               VARCHAR?  NULL: no stack, or one without frames
-- @col    compile_context    VARCHAR?
-- @col    user_metadata      VARCHAR?
-- @why    The label is left out: numbering all addresses would cost more than all the rest, and few rows are shown.
WITH listed AS (
  SELECT *
  FROM allocation
  WHERE snapshot_id = $snapshot_id AND device = $device
    AND ($at_seq IS NULL OR (coalesce(alloc_seq, -1) <= $at_seq AND coalesce(free_completed_seq, 2147483647) > $at_seq))
    AND ($address IS NULL OR address = $address)
    AND ($min_bytes IS NULL OR actual_bytes >= $min_bytes)
    AND ($site IS NULL OR stack_id IN (
      SELECT stack_frame.stack_id FROM stack_frame JOIN frame USING (frame_id)
      WHERE contains(lower(frame.name || ' ' || frame.filename || ':' || frame.line), lower($site))))
  ORDER BY
    CASE $sort WHEN 'bytes' THEN actual_bytes WHEN 'lifetime' THEN coalesce(lifetime_entries, 2147483647)
      ELSE -coalesce(alloc_seq, -1) END DESC NULLS LAST,
    alloc_seq NULLS FIRST, address
  LIMIT $count)
SELECT
  listed.address, listed.origin, listed.alloc_seq, listed.free_requested_seq, listed.free_completed_seq, listed.requested_bytes,
  listed.actual_bytes, listed.uncertain_bytes, listed.alloc_us, listed.free_us, listed.lifetime_us, listed.lifetime_entries, listed.stream,
  listed.pool, listed.stack_id, listed.stack_origin, nullif(stack.site, '') AS site, context.text AS compile_context,
  metadata.text AS user_metadata
FROM listed
LEFT JOIN stack ON stack.stack_id = listed.stack_id
LEFT JOIN text_value AS context ON context.text_id = listed.compile_context_id
LEFT JOIN text_value AS metadata ON metadata.text_id = listed.user_metadata_id
ORDER BY
  CASE $sort WHEN 'bytes' THEN actual_bytes WHEN 'lifetime' THEN coalesce(lifetime_entries, 2147483647)
    ELSE -coalesce(alloc_seq, -1) END DESC NULLS LAST,
  alloc_seq NULLS FIRST, address
