-- @name   library.phase
-- @kind   view
-- @title  Every start of a phase of a run
-- @col    run_id    INTEGER
-- @col    source_id INTEGER
-- @col    attempt   INTEGER  launch of the run
-- @col    line      BIGINT
-- @col    rank      INTEGER? global rank, else that of the file
-- @col    phase     VARCHAR
-- @col    label     VARCHAR  the line's own words, shortened
-- @col    iteration BIGINT?
-- @col    time_us   BIGINT?  printed time, µs since 1970 by clock
-- @col    format    VARCHAR  format that read it
-- @why    log_phase with the run, and the launch counted over the run.
SELECT
  source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, coalesce(log.rank, source.rank) AS rank, log.phase,
  log.label, log.iteration, log.time_us, log.format
FROM log_phase AS log JOIN source USING (source_id)
