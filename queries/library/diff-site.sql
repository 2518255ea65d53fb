-- @name   library.diff_site
-- @kind   macro
-- @title  What changed between the peaks of two runs, by call site
-- @param  left_run  VARCHAR  name of a run, or handle of a snapshot
-- @param  right_run VARCHAR
-- @col    site              VARCHAR  as the right side names it, or the left where the right has it not
-- @col    left_site         VARCHAR?
-- @col    right_site        VARCHAR?
-- @col    match             VARCHAR  exact, line_shifted, moved, renamed, only_left or only_right
-- @col    through           VARCHAR? a function that only one side has, through which it allocates here
-- @col    left_bytes        BIGINT   actual sizes
-- @col    right_bytes       BIGINT
-- @col    difference_bytes  BIGINT   right less left
-- @col    left_blocks       BIGINT
-- @col    right_blocks      BIGINT
-- @col    difference_blocks BIGINT
-- @col    match_no          INTEGER? of site_match
-- @why    Sites of equal name are one site; site_match, where it has rows of the two, lists lines that were moved or renamed, as the verb
--         diff matches them. Sites that stayed are left out.
SELECT
  site, left_site, right_site, match, through, left_bytes, right_bytes, difference_bytes, left_blocks, right_blocks, difference_blocks,
  match_no
FROM compared_memory(left_run, right_run) AS compared
WHERE part = 'site' AND (difference_bytes <> 0 OR difference_blocks <> 0)
