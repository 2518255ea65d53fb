-- @name   log.incidents
-- @title  Failure lines of a run with their figures, and the last iteration printed before each
-- @param  run_id INTEGER
-- @of     incident: incident_id kind is_oom rank rank_origin local_rank host device pid exit_code exception frame_file frame_line
--         frame_function traceback_line time_us line last_line grammar text
-- @col    time            VARCHAR? as printed
-- @col    attempt         INTEGER
-- @col    iteration       BIGINT?  last one printed before it in the same attempt of the same file, else the highest of that attempt
-- @col    iteration_origin VARCHAR? same file, same attempt
-- @col    file            VARCHAR
-- @col    survived        BOOLEAN  the launch went on without a gap for two more printed iterations before its launcher reported its end,
--                         or a later line of the file reports that it finished
-- @col    copy_of         BIGINT?  place of the same failure in another file, from 0
-- @needs  incident
-- @why    Only the last rank prints iterations, and every rank with DP rank 0 its memory after some: both show the progress of a file. A
--         rank that prints neither gets the attempt's last iteration, marked as such.
--         One failure of a node is in its own file and in the file of all nodes: the same text of the same rank, as often as there. A
--         repeated launch fails with the same words too, so a time or a process must show that they are the same failure.
--         Where standard error comes before standard output, all iterations are behind the end that the launcher reported.
WITH
  progress AS (
    SELECT source_id, attempt, line::BIGINT AS line, iteration FROM log_iteration
    UNION ALL
    SELECT DISTINCT source_id, attempt, line::BIGINT, iteration FROM log_memory WHERE iteration IS NOT NULL),
  file_progress AS (
    SELECT progress.source_id, progress.attempt, progress.line, max(progress.iteration) AS iteration
    FROM progress JOIN source USING (source_id) WHERE source.run_id = $run_id
    GROUP BY progress.source_id, progress.attempt, progress.line),
  furthest AS (
    SELECT source.attempt + file_progress.attempt - 1 AS attempt, max(file_progress.iteration) AS iteration FROM file_progress
      JOIN source USING (source_id) GROUP BY 1),
  went_on AS (
    SELECT source_id, attempt, line FROM (
      SELECT DISTINCT ON (log.source_id, log.attempt, log.iteration) log.source_id, log.attempt, log.line::BIGINT AS line
      FROM log_iteration AS log JOIN source USING (source_id) WHERE source.run_id = $run_id
      ORDER BY log.source_id, log.attempt, log.iteration, log.line)
    QUALIFY row_number() OVER (PARTITION BY source_id, attempt ORDER BY line DESC) = 2),
  next_iteration AS (
    SELECT source_id, attempt, line, step > 2 * median(step) OVER (PARTITION BY source_id, attempt) AS is_behind_gap FROM (
      SELECT log.source_id, log.attempt, log.line::BIGINT AS line,
        log.iteration - lag(log.iteration) OVER (PARTITION BY log.source_id, log.attempt ORDER BY log.line) AS step
      FROM log_iteration AS log JOIN source USING (source_id) WHERE source.run_id = $run_id)),
  finished AS (
    SELECT log.source_id, log.attempt, max(log.line)::BIGINT AS line FROM log_phase AS log JOIN source USING (source_id)
    WHERE source.run_id = $run_id AND log.phase = 'finished' GROUP BY log.source_id, log.attempt),
  launcher_end AS (
    SELECT DISTINCT incident.source_id, coalesce(incident.attempt, 1) AS attempt, incident.line FROM incident JOIN source USING (source_id)
    WHERE source.run_id = $run_id AND regexp_matches(incident.grammar, '^(torchrun|launcher|slurm|mpi)\.')),
  unnumbered AS (
    SELECT incident.*, coalesce(incident.attempt, 1) AS file_attempt, source.attempt + coalesce(incident.attempt, 1) - 1 AS run_attempt,
      source.display_path, source.rank AS source_rank, source.rank_origin AS source_rank_origin,
      coalesce(incident.rank, source.rank) AS any_rank
    FROM incident JOIN source USING (source_id) WHERE source.run_id = $run_id),
  numbered AS (
    SELECT *, row_number() OVER (ORDER BY run_attempt, display_path, line, incident_id) - 1 AS place,
      row_number() OVER (PARTITION BY run_attempt, kind, any_rank, device, pid, time_us, text, display_path
        ORDER BY line, incident_id) AS nth
    FROM unnumbered),
  lines AS (
    SELECT *,
      CASE WHEN first_value(display_path) OVER alike <> display_path
          AND (time_us IS NOT NULL OR pid IS NOT NULL OR regexp_matches(text, '(?i)\b(?:process|pid)\b[ :=]{0,3}\d{2}'))
        THEN first_value(place) OVER alike END AS copy_of
    FROM numbered
    WINDOW alike AS (PARTITION BY run_attempt, kind, any_rank, device, pid, time_us, text, nth ORDER BY place))
SELECT lines.incident_id, lines.kind, lines.is_oom, lines.any_rank AS rank,
  CASE WHEN lines.rank IS NULL THEN lines.source_rank_origin ELSE lines.rank_origin END AS rank_origin, lines.local_rank, lines.host,
    lines.device, lines.pid, lines.exit_code,
  lines.exception, lines.frame_file, lines.frame_line, lines.frame_function, lines.traceback_line, lines.time_text AS time, lines.time_us,
  lines.run_attempt AS attempt, coalesce(file_progress.iteration, furthest.iteration) AS iteration,
  CASE WHEN file_progress.iteration IS NOT NULL THEN 'same file' WHEN furthest.iteration IS NOT NULL THEN 'same attempt' END
    AS iteration_origin,
  lines.display_path AS file, lines.line, lines.last_line, lines.grammar, lines.text,
  (coalesce(finished.line > lines.line, false) OR (coalesce(went_on.line > lines.line, false)
    AND (launcher_end.line < went_on.line) IS NOT TRUE AND next_iteration.is_behind_gap IS NOT TRUE
    AND lines.kind NOT IN ('cancelled', 'preempted', 'time_limit'))) AS survived,
  lines.copy_of
FROM lines
ASOF LEFT JOIN file_progress ON file_progress.source_id = lines.source_id AND file_progress.attempt = lines.file_attempt
  AND file_progress.line <= lines.line
LEFT JOIN went_on ON went_on.source_id = lines.source_id AND went_on.attempt = lines.file_attempt
ASOF LEFT JOIN next_iteration ON next_iteration.source_id = lines.source_id AND next_iteration.attempt = lines.file_attempt
  AND next_iteration.line >= lines.line
ASOF LEFT JOIN launcher_end ON launcher_end.source_id = lines.source_id AND launcher_end.attempt = lines.file_attempt
  AND launcher_end.line >= lines.line
LEFT JOIN finished ON finished.source_id = lines.source_id AND finished.attempt = lines.file_attempt
LEFT JOIN furthest ON furthest.attempt = lines.run_attempt
ORDER BY lines.run_attempt, lines.display_path, lines.line, lines.incident_id
