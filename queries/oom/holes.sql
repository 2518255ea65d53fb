-- @name   oom.holes
-- @title  Free blocks at an OOM entry, with the reason why its request could not have them
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  seq    INTEGER  of the OOM entry
-- @of     oom_hole
-- @why    Rows of oom_hole, derived while ingesting. The rules are those of torch's get_free_block: one pool, class of size and stream
--         are searched. With max_split_size_mb, a block of at least that size is kept for requests of at least that size, and one of
--         these takes a block that is less than max_non_split_rounding_mb larger. What is left as large_enough was freed in the
--         allocator's last wait, and not searched again.
WITH request AS (
  SELECT oom.requested_bytes, event.stream, coalesce(history.max_split_bytes, 9223372036854775807) AS max_split,
    history.max_non_split_rounding_bytes
  FROM trace_oom AS oom
  JOIN event ON event.snapshot_id = oom.snapshot_id AND event.device = oom.device AND event.seq = oom.seq
  JOIN derived_history AS history ON history.snapshot_id = oom.snapshot_id AND history.device = oom.device
  WHERE oom.snapshot_id = $snapshot_id AND oom.device = $device AND oom.seq = $seq),
hole AS (
  SELECT hole.*,
    CASE WHEN hole.is_private THEN 'private_pool'
      WHEN (hole.segment_type = 'small') <> (request.requested_bytes <= 1048576) THEN 'other_size_class'
      WHEN hole.stream <> request.stream THEN 'other_stream'
      WHEN hole.bytes < request.requested_bytes THEN 'too_small'
      WHEN request.requested_bytes < max_split AND hole.bytes >= max_split THEN 'kept_for_larger'
      WHEN request.requested_bytes >= max_split AND hole.bytes - request.requested_bytes >= max_non_split_rounding_bytes
        THEN 'kept_for_larger'
      ELSE 'large_enough' END AS use
  FROM free_at($snapshot_id, $device, $seq - 1) AS hole CROSS JOIN request)
SELECT
  $snapshot_id AS snapshot_id, $device AS device, $seq AS seq, address, bytes, use AS reason,
  CASE WHEN use = 'too_small' AND is_expandable = 1 THEN bytes - releasable_bytes ELSE 0 END AS page_pinned_bytes, segment_address,
  segment_bytes, segment_type, stream, pool, is_expandable, live_blocks, live_bytes
FROM hole
ORDER BY address
