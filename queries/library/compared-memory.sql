-- @name   library.compared_memory
-- @kind   macro
-- @title  Live memory of two runs at their peaks by component, by call site, and by call site and size of block, with what is equal
-- @param  left_run  VARCHAR  name of a run, handle of a snapshot, or a side in side_stack
-- @param  right_run VARCHAR
-- @col    part              VARCHAR  component, site or size: which columns the row is a sum by
-- @col    component         VARCHAR?
-- @col    site              VARCHAR? as the right side names it, or the left where the right has it not
-- @col    left_site         VARCHAR?
-- @col    right_site        VARCHAR?
-- @col    match             VARCHAR? exact, line_shifted, moved, renamed, only_left or only_right
-- @col    through           VARCHAR? a function that only one side has, through which it allocates here
-- @col    size_bytes        BIGINT?  of one block
-- @col    left_bytes        BIGINT   actual sizes
-- @col    right_bytes       BIGINT
-- @col    difference_bytes  BIGINT   right less left
-- @col    left_blocks       BIGINT
-- @col    right_blocks      BIGINT
-- @col    difference_blocks BIGINT
-- @col    match_no          INTEGER? of site_match
-- @why    The rows of diff_component, diff_site and diff_size, which are those with a difference, from one reading of the blocks.
SELECT
  CASE WHEN grouping(component) = 0 THEN 'component' WHEN grouping(size_bytes) = 0 THEN 'size' ELSE 'site' END AS part, component,
  CASE WHEN grouping(site_key) = 0 THEN coalesce(max(site) FILTER (is_right), max(site)) END AS site,
  CASE WHEN grouping(site_key) = 0 THEN max(site) FILTER (NOT is_right) END AS left_site,
  CASE WHEN grouping(site_key) = 0 THEN max(site) FILTER (is_right) END AS right_site,
  CASE
    WHEN grouping(site_key) = 1 THEN NULL
    WHEN bool_and(is_right) THEN 'only_right'
    WHEN NOT bool_or(is_right) THEN 'only_left'
    ELSE coalesce(max(match), 'exact') END AS match,
  CASE WHEN grouping(site_key) = 0 THEN max(through) END AS through, size_bytes,
  sum(CASE WHEN is_right THEN 0 ELSE bytes END)::BIGINT AS left_bytes, sum(CASE WHEN is_right THEN bytes ELSE 0 END)::BIGINT AS right_bytes,
  sum(CASE WHEN is_right THEN bytes ELSE -bytes END)::BIGINT AS difference_bytes,
  sum(CASE WHEN is_right THEN 0 ELSE blocks END)::BIGINT AS left_blocks,
  sum(CASE WHEN is_right THEN blocks ELSE 0 END)::BIGINT AS right_blocks,
  sum(CASE WHEN is_right THEN blocks ELSE -blocks END)::BIGINT AS difference_blocks,
  CASE WHEN grouping(site_key) = 0 THEN max(match_no) END AS match_no
FROM compared_stack(left_run, right_run) AS stack
GROUP BY GROUPING SETS ((component), (site_key), (site_key, size_bytes))
