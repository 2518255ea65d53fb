-- @name   library.diff_component
-- @kind   macro
-- @title  What changed between the peaks of two runs, by component
-- @param  left_run  VARCHAR  name of a run, or handle of a snapshot
-- @param  right_run VARCHAR
-- @col    component         VARCHAR
-- @col    left_bytes        BIGINT   actual sizes
-- @col    right_bytes       BIGINT
-- @col    difference_bytes  BIGINT   right less left
-- @col    left_blocks       BIGINT
-- @col    right_blocks      BIGINT
-- @col    difference_blocks BIGINT
-- @why    The differences add up to that of the active bytes, as those of diff_site do. Components that stayed are left out.
SELECT component, left_bytes, right_bytes, difference_bytes, left_blocks, right_blocks, difference_blocks
FROM compared_memory(left_run, right_run) AS compared
WHERE part = 'component' AND (difference_bytes <> 0 OR difference_blocks <> 0)
