-- @name   allocation.totals
-- @title  How many allocations of one device there are, and their bytes
-- @param  snapshot_id INTEGER
-- @param  device    INTEGER
-- @param  at_seq    INTEGER?  only those live after this entry; -1 = before the first
-- @param  address   UBIGINT?
-- @param  min_bytes BIGINT?
-- @param  site      VARCHAR?  only stacks with this text in a frame
-- @col    count           BIGINT
-- @col    actual_bytes    BIGINT
-- @col    requested_bytes BIGINT
-- @why    A truncated list must show its totals.
SELECT count(*) AS count, coalesce(sum(actual_bytes), 0)::BIGINT AS actual_bytes,
  coalesce(sum(requested_bytes), 0)::BIGINT AS requested_bytes
FROM allocation
WHERE snapshot_id = $snapshot_id AND device = $device
  AND ($at_seq IS NULL OR (coalesce(alloc_seq, -1) <= $at_seq AND coalesce(free_completed_seq, 2147483647) > $at_seq))
  AND ($address IS NULL OR address = $address)
  AND ($min_bytes IS NULL OR actual_bytes >= $min_bytes)
  AND ($site IS NULL OR stack_id IN (
    SELECT stack_frame.stack_id FROM stack_frame JOIN frame USING (frame_id)
    WHERE contains(lower(frame.name || ' ' || frame.filename || ':' || frame.line), lower($site))))
LIMIT 1
