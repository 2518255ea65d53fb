-- @name   export.segment_stacks
-- @title  Stacks that created the segments present at a moment of a trace, by address
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  to_seq INTEGER  entries before this one
-- @col    address  UBIGINT
-- @col    stack_id INTEGER
-- @why    States contain no stacks of segments. The segment at an address was created by the last entry that created one there. Without
--         such an entry it is older than the trace; if it still exists at the dump, the dump contains its stack.
WITH made AS (
  SELECT addr AS address, max(stack_id) FILTER (seq < $to_seq) IS NOT NULL AS is_before,
    arg_max(stack_id, seq) FILTER (seq < $to_seq) AS stack_id
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('segment_alloc', 'segment_map') AND addr IS NOT NULL
  GROUP BY addr
),
dumped AS (
  SELECT address, any_value(stack_id) AS stack_id FROM segment WHERE snapshot_id = $snapshot_id AND device = $device GROUP BY address
)
SELECT address, stack_id FROM made WHERE is_before
UNION ALL
SELECT dumped.address, dumped.stack_id FROM dumped WHERE dumped.stack_id IS NOT NULL AND dumped.address NOT IN (SELECT address FROM made)
ORDER BY address
