-- @name   export.blocks_of_interest
-- @title  The blocks of a run of a lake that its answers are about
-- @param  run VARCHAR    the run, as the lake names it
-- @param  rank INTEGER?  a rank that is asked about
-- @col    of_rank INTEGER?     of that rank
-- @col    of_failure INTEGER?  whose task put one of its own failures first
-- @col    of_peak INTEGER?     of the fullest rank with a snapshot
-- @why    No answer reads the blocks of a thousand ranks. Verdicts of a task are numbered in its order, from 1,048,576 times the number
--         of the block.
SELECT
  (SELECT min(task) FROM lake.rank_summary WHERE run = $run AND rank = $rank) AS of_rank,
  (SELECT task FROM lake.verdict WHERE run = $run AND failure IS NOT NULL ORDER BY number % 1048576, task LIMIT 1) AS of_failure,
  (SELECT arg_max(task, peak_active_bytes) FROM lake.rank_summary WHERE run = $run) AS of_peak
