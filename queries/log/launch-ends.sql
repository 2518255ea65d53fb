-- @name   log.launch_ends
-- @title  Of each launch, the line that reports its end and its last iteration, with their places
-- @param  run_id INTEGER
-- @col    attempt        INTEGER
-- @col    finished_file  VARCHAR?
-- @col    finished_line  BIGINT?
-- @col    finished_label VARCHAR?  words of the line
-- @col    last_iteration BIGINT?
-- @col    last_file      VARCHAR?
-- @col    last_line      BIGINT?
-- @needs  log_phase log_iteration
-- @why    Evidence of how a run ended names the line that it was read from. Where standard error comes before standard output, the end
--         is printed above all iterations; if they stop before the last one, they are not those of the run that ended.
WITH
  progress AS (
    SELECT log.source_id, source.attempt + log.attempt - 1 AS attempt, min(log.line) AS first_line, max(log.iteration) AS iteration,
      (max(log.iteration) - min(log.iteration)) / greatest(count(DISTINCT log.iteration) - 1, 1) AS step,
      max(log.target_iterations) AS target
    FROM log_iteration AS log JOIN source USING (source_id) WHERE source.run_id = $run_id GROUP BY 1, 2),
  finished AS (
    SELECT phase.attempt, first(source.display_path ORDER BY source.display_path, phase.line) AS file,
      first(phase.line ORDER BY source.display_path, phase.line)::BIGINT AS line,
      first(phase.label ORDER BY source.display_path, phase.line) AS label
    FROM phase JOIN source USING (source_id)
    LEFT JOIN progress ON progress.source_id = phase.source_id AND progress.attempt = phase.attempt
    WHERE phase.run_id = $run_id AND phase.phase = 'finished'
      AND (progress.first_line > phase.line AND progress.iteration + progress.step < progress.target) IS NOT TRUE
    GROUP BY phase.attempt),
  iterations AS (
    SELECT attempt, max(iteration) AS iteration, last(display_path ORDER BY iteration, display_path, line, place) AS file,
      last(line ORDER BY iteration, display_path, line, place)::BIGINT AS line
    FROM iteration_lines($run_id) AS iteration_lines GROUP BY attempt)
SELECT coalesce(finished.attempt, iterations.attempt) AS attempt, finished.file AS finished_file, finished.line AS finished_line,
  finished.label AS finished_label, iterations.iteration AS last_iteration, iterations.file AS last_file, iterations.line AS last_line
FROM finished FULL JOIN iterations ON iterations.attempt = finished.attempt
ORDER BY 1
