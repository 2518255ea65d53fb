-- @name   log.attempts
-- @title  The launches of a run: when, how far each came, how many failure lines it left
-- @param  run_id INTEGER
-- @col    attempt         INTEGER
-- @col    origin          VARCHAR  evidence of the launch; assumed if there is none
-- @col    time_us         BIGINT?
-- @col    iteration_lines BIGINT
-- @col    first_iteration BIGINT?  of the first line, in the order of files and lines
-- @col    last_iteration  BIGINT?
-- @col    incidents       BIGINT
-- @col    last_phase      VARCHAR?  reached last, by the order of lines
-- @col    peak_reserved_bytes BIGINT?  the largest printed, of all ranks
-- @col    peak_allocated_bytes BIGINT?
-- @why    Counts are made per attempt before joining: a launch with 3 iterations and 5 failure lines must not count 15. The first launch of
--         a file is implicit and in the view only if there is evidence of it: all launches up to the last are listed.
WITH
  known AS (SELECT unnest(range(1, 1 + (SELECT coalesce(max(attempt.attempt), 1) FROM attempt
    WHERE attempt.run_id = $run_id)))::INTEGER AS attempt),
  iterations AS (
    SELECT attempt, count(*) AS lines, first(iteration ORDER BY display_path, line, place) AS first_iteration,
      last(iteration ORDER BY display_path, line, place) AS last_iteration
    FROM iteration_lines($run_id) AS iteration_lines GROUP BY attempt),
  failures AS (
    SELECT source.attempt + coalesce(incident.attempt, 1) - 1 AS attempt, count(*) AS incidents
    FROM incident JOIN source USING (source_id)
    WHERE source.run_id = $run_id GROUP BY 1),
  phases AS (
    SELECT phase.attempt, last(phase.phase ORDER BY phase.source_id, phase.line) AS last_phase
    FROM phase WHERE phase.run_id = $run_id AND phase.phase <> 'unknown' GROUP BY 1),
  peaks AS (
    SELECT source.attempt + log.attempt - 1 AS attempt,
      coalesce(max(log.bytes) FILTER (metric.text = 'max_reserved'), max(log.bytes) FILTER (metric.text = 'reserved')) AS reserved_bytes,
      coalesce(max(log.bytes) FILTER (metric.text = 'max_allocated'), max(log.bytes) FILTER (metric.text = 'allocated')) AS allocated_bytes
    FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS metric ON metric.text_id = log.metric_id
    WHERE source.run_id = $run_id GROUP BY 1)
SELECT known.attempt, coalesce(attempt.origin, 'assumed') AS origin, attempt.time_us, coalesce(iterations.lines, 0) AS iteration_lines,
  iterations.first_iteration, iterations.last_iteration, coalesce(failures.incidents, 0) AS incidents, phases.last_phase,
  peaks.reserved_bytes AS peak_reserved_bytes, peaks.allocated_bytes AS peak_allocated_bytes
FROM known
LEFT JOIN (SELECT * FROM attempt WHERE run_id = $run_id) AS attempt USING (attempt)
LEFT JOIN iterations USING (attempt)
LEFT JOIN failures USING (attempt)
LEFT JOIN phases USING (attempt)
LEFT JOIN peaks USING (attempt)
ORDER BY known.attempt
