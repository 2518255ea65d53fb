-- @name   verdict.failures
-- @title  The failures of a run, or of all runs: their facts, and where their figures are from
-- @param  run_id INTEGER?  NULL: all runs
-- @param  failures VARCHAR?  numbers of failures, joined by commas; NULL: all
-- @of     oom_fact: failure rank device snapshot_id text request_bytes segment_request_bytes reserved_bytes reserved_precision_bytes
--         allocated_bytes allocated_precision_bytes device_free_bytes device_free_precision_bytes total_bytes total_precision_bytes
--         total_from process_bytes process_precision_bytes other_processes_precision_bytes allowed_bytes private_free_bytes walk_is_exact
--         is_expandable has_trace steps_by has_earlier_states trace_activity activity_bytes growth_first_iteration growth_last_iteration
--         growth_first_bytes growth_last_bytes growth_bytes_per_iteration growth_r2 growth_path run_activity completed_steps
--         own_stage_rank next_stage next_stage_rank lines_path lines_line early_first_iteration early_second_iteration
--         early_last_iteration early_peak_bytes early_path early_line other_ranks others_reserved_bytes others_reserved_rank
--         others_reserved_path others_reserved_line projected_bytes alike_share
-- @col    message_path VARCHAR?
-- @col    message_line BIGINT?
-- @col    site       VARCHAR? of the request, in a trace
-- @col    other_processes_bytes BIGINT? NULL: none are printed
-- @col    impossible VARCHAR[] printed figures that the rest of the message contradicts
-- @col    live_bytes BIGINT? allocated and pending
-- @col    limit_bytes BIGINT? what the process could have
-- @col    short_bytes BIGINT? live and asked beyond the limit
-- @col    step_outcome VARCHAR?
-- @col    stack_id INTEGER? of the request in the trace
-- @col    frames VARCHAR? JSON: of the message's traceback, innermost first
-- @col    hint_frames VARCHAR? JSON: for a message without a traceback, of another rank that failed with an equal request in the same
--         launch, else of one whose traceback is cut off before its exception
-- @col    hint_rank  INTEGER?
-- @col    is_evaluating BOOLEAN a progress bar of an evaluation is the last line before the failure
-- @needs  oom_fact
-- @why    Evidence and accounts are made from these figures.
WITH
  failed AS (
    SELECT fact.run_id, fact.failure, fact.request_bytes, incident.*, source.attempt + incident.attempt AS launch
    FROM oom_fact AS fact JOIN incident ON incident.incident_id = fact.incident_id
    JOIN source ON source.source_id = incident.source_id
    WHERE coalesce(fact.run_id = $run_id, true) AND coalesce(list_contains(string_split($failures, ',')::INTEGER[], fact.failure), true)),
  hint AS (
    SELECT DISTINCT ON (failed.run_id, failed.failure) failed.run_id, failed.failure, other.frames, other.rank
    FROM failed
    JOIN source ON source.run_id = failed.run_id
    JOIN incident AS other ON other.source_id = source.source_id AND source.attempt + other.attempt = failed.launch
    LEFT JOIN incident_value AS value ON value.incident_id = other.incident_id AND value.field = 'requested'
    WHERE failed.frames IS NULL AND other.frames IS NOT NULL AND other.rank <> failed.rank
      AND (value.bytes = failed.request_bytes OR other.grammar = 'python.traceback_cut')
    ORDER BY failed.run_id, failed.failure, value.bytes IS NULL, other.line)
SELECT
  fact.failure, fact.rank, fact.device, fact.snapshot_id, fact.text, source.display_path AS message_path, incident.line AS
  message_line, nullif(stack.site, '') AS site, fact.request_bytes, fact.segment_request_bytes, fact.reserved_bytes,
  fact.reserved_precision_bytes, fact.allocated_bytes, fact.allocated_precision_bytes, fact.device_free_bytes,
  fact.device_free_precision_bytes, fact.total_bytes, fact.total_precision_bytes, fact.total_from, fact.process_bytes,
  fact.process_precision_bytes, nullif(fact.other_processes_bytes, 0) AS other_processes_bytes, fact.other_processes_precision_bytes,
  coalesce(fact.impossible, []) AS impossible, fact.allowed_bytes, fact.private_free_bytes, fact.walk_is_exact, fact.is_expandable,
  fact.has_trace, fact.steps_by, fact.has_earlier_states, fact.trace_activity, fact.activity_bytes, fact.growth_first_iteration,
  fact.growth_last_iteration, fact.growth_first_bytes, fact.growth_last_bytes, fact.growth_bytes_per_iteration, fact.growth_r2,
  fact.growth_path, fact.run_activity, fact.completed_steps, fact.own_stage_rank, fact.next_stage, fact.next_stage_rank,
  fact.lines_path, fact.lines_line, fact.early_first_iteration, fact.early_second_iteration, fact.early_last_iteration,
  fact.early_peak_bytes, fact.early_path, fact.early_line, fact.other_ranks, fact.others_reserved_bytes, fact.others_reserved_rank,
  fact.others_reserved_path, fact.others_reserved_line, fact.projected_bytes, fact.alike_share, sum.live_bytes, sum.limit_bytes,
  sum.short_bytes, sum.step_outcome, state.stack_id, incident.frames, hint.frames AS hint_frames, hint.rank AS hint_rank,
  EXISTS (
    SELECT 1 FROM log_phase WHERE log_phase.source_id = incident.source_id AND log_phase.format = 'progress.evaluation'
      AND log_phase.line BETWEEN coalesce(incident.traceback_line, incident.line) - 3 AND incident.line) AS is_evaluating
FROM oom_fact AS fact
LEFT JOIN oom_sum AS sum ON sum.run_id = fact.run_id AND sum.failure = fact.failure
LEFT JOIN oom_state AS state ON state.snapshot_id = fact.snapshot_id AND state.device = fact.device
LEFT JOIN stack ON stack.stack_id = state.stack_id
LEFT JOIN incident ON incident.incident_id = fact.incident_id
LEFT JOIN source ON source.source_id = incident.source_id
LEFT JOIN hint ON hint.run_id = fact.run_id AND hint.failure = fact.failure
WHERE coalesce(fact.run_id = $run_id, true) AND coalesce(list_contains(string_split($failures, ',')::INTEGER[], fact.failure), true)
ORDER BY fact.run_id, fact.failure
