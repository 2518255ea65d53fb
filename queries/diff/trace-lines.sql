-- @name   diff.trace_lines
-- @title  The lines of code through which a trace allocates
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    name     VARCHAR  function
-- @col    filename VARCHAR
-- @col    line     INTEGER
-- @col    allocs   BIGINT   allocations of the whole trace with the line on their stack
-- @col    bytes    BIGINT   requested
-- @why    Which line of one version is which of the other shows in all that both recorded, not only in what is live at the compared moment.
WITH allocating AS (
  SELECT stack_id, count(*) AS allocs, sum(size_bytes) AS bytes
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND action = 'alloc' AND stack_id IS NOT NULL
  GROUP BY stack_id),
passed AS (
  SELECT DISTINCT allocating.stack_id, stack_frame.frame_id, allocating.allocs, allocating.bytes
  FROM stack_frame JOIN allocating USING (stack_id)),
passing AS (SELECT frame_id, sum(allocs)::BIGINT AS allocs, sum(bytes)::BIGINT AS bytes FROM passed GROUP BY frame_id)
SELECT frame.name, frame.filename, frame.line, passing.allocs, passing.bytes
FROM passing JOIN frame USING (frame_id)
WHERE frame.line > 0
ORDER BY frame.filename, frame.line, frame.name
