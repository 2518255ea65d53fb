-- @name   finding.memory_series
-- @title  One memory figure of one rank, line by line
-- @param  run_id INTEGER
-- @param  rank   INTEGER?  NULL: lines without a rank
-- @param  metric VARCHAR
-- @col    iteration    BIGINT?
-- @col    bytes        BIGINT?
-- @col    attempt      INTEGER
-- @col    display_path VARCHAR
-- @col    line         INTEGER
-- @why    Growth is claimed of a series, so the series is the evidence.
SELECT sample.iteration, sample.bytes, sample.attempt, source.display_path, sample.line
FROM memory_sample AS sample JOIN source USING (source_id)
WHERE sample.run_id = $run_id AND sample.rank IS NOT DISTINCT FROM $rank AND sample.metric = $metric
ORDER BY sample.attempt, source.display_path, sample.line
