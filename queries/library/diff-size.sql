-- @name   library.diff_size
-- @kind   macro
-- @title  Sizes of blocks whose number differs between the peaks of two runs, by call site
-- @param  left_run  VARCHAR  name of a run, or handle of a snapshot
-- @param  right_run VARCHAR
-- @col    site         VARCHAR  as in diff_site
-- @col    size_bytes   BIGINT   of one block
-- @col    left_blocks  BIGINT
-- @col    right_blocks BIGINT
-- @col    match_no     INTEGER? of site_match
-- @why    A tensor that grew is two rows: its old size and its new one.
SELECT site, size_bytes, left_blocks, right_blocks, match_no
FROM compared_memory(left_run, right_run) AS compared
WHERE part = 'size' AND difference_blocks <> 0
