-- @name   export.stacks
-- @title  Frame ids of every stack of a snapshot, innermost first
-- @param  snapshot_id INTEGER
-- @col    stack_id INTEGER
-- @col    frame_id INTEGER
-- @why    Stacks repeat a few thousand frames; ids take four bytes each where frames would take hundreds.
WITH used AS (
  SELECT DISTINCT stack_id FROM (
    SELECT stack_id FROM event WHERE snapshot_id = $snapshot_id
    UNION ALL
    SELECT stack_id FROM segment WHERE snapshot_id = $snapshot_id
    UNION ALL
    SELECT stack_id FROM block WHERE snapshot_id = $snapshot_id
  )
)
SELECT stack_frame.stack_id, stack_frame.frame_id
FROM stack_frame
JOIN used USING (stack_id)
ORDER BY stack_frame.stack_id, stack_frame.pos
