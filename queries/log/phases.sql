-- @name   log.phases
-- @title  Phases of each attempt: how often announced, and where first
-- @param  run_id INTEGER
-- @col    attempt      INTEGER
-- @col    phase        VARCHAR
-- @col    label        VARCHAR  words of the first line
-- @col    count        BIGINT
-- @col    iteration    BIGINT?  of the last line that has one
-- @col    time_us      BIGINT?  earliest
-- @col    display_path VARCHAR
-- @col    line         BIGINT
-- @needs  log_phase
-- @why    Labels carry paths and numbers, so that phases, not labels, are what can be counted. Clocks order the phases of an attempt where
--         all of them have one; else files and lines do.
SELECT phase.attempt, phase.phase, first(phase.label ORDER BY source.display_path, phase.line) AS label, count(*) AS count,
  last(phase.iteration ORDER BY source.display_path, phase.line) FILTER (phase.iteration IS NOT NULL) AS iteration,
  min(phase.time_us) AS time_us, first(source.display_path ORDER BY source.display_path, phase.line) AS display_path,
  first(phase.line ORDER BY source.display_path, phase.line) AS line
FROM phase JOIN source USING (source_id)
WHERE phase.run_id = $run_id
GROUP BY phase.attempt, phase.phase
ORDER BY phase.attempt, CASE WHEN count(min(phase.time_us)) OVER (PARTITION BY phase.attempt) = count(*) OVER (PARTITION BY phase.attempt)
  THEN min(phase.time_us) END, display_path, line, phase.phase
