-- @name   library.measured_run
-- @kind   macro
-- @title  What a run is judged by, as JSON: its ending, memory lines, peaks of snapshots, steady iterations and losses
-- @param  checked_run VARCHAR  name of a run
-- @col    run      VARCHAR
-- @col    document VARCHAR  status, ranks, peaks, steps and series as golden values have them
-- @why    What golden_check compares with golden values. Of at most four ranks the latest snapshot, and of at most 2,000 iterations the
--         loss, as golden values are. Where the peak includes a refused request its components are NULL: the component of the request is
--         known to the rules of the program only. Stages, disturbances and the reason of a failure are left to the verb compare.
WITH target AS (SELECT run_id, name FROM run WHERE name = checked_run),
device AS (
  SELECT known.*, row_number() OVER (ORDER BY known.rank NULLS FIRST) AS nth, history.peak_active_bytes,
    state.allocated_bytes + state.pending_bytes + refused.requested_bytes AS oom_bytes,
    oom_bytes > history.peak_active_bytes IS TRUE AS is_refused
  FROM (
    SELECT * FROM devices_of(checked_run) AS every
    QUALIFY row_number() OVER (PARTITION BY every.rank
      ORDER BY coalesce(last_time_us, -1) DESC, snapshot_id DESC, ooms > 0 DESC, has_trace DESC, reserved_bytes DESC, device) = 1) AS known
  JOIN derived_history AS history ON history.snapshot_id = known.snapshot_id AND history.device = known.device
  LEFT JOIN oom_state AS state ON state.snapshot_id = known.snapshot_id AND state.device = known.device
  LEFT JOIN trace_oom AS refused
    ON refused.snapshot_id = state.snapshot_id AND refused.device = state.device AND refused.seq = state.seq
  QUALIFY nth <= 4),
component AS (
  SELECT device.nth, coalesce(label.component, 'unattributed') AS component, sum(life.actual_bytes) AS bytes
  FROM device
  JOIN block_life AS life ON life.snapshot_id = device.snapshot_id AND life.device = device.device
    AND life.from_seq <= device.peak_seq AND life.to_seq > device.peak_seq
  LEFT JOIN label ON label.snapshot_id = life.snapshot_id AND label.device = life.device AND label.label = life.label
  WHERE NOT device.is_refused
  GROUP BY ALL),
peak AS (
  SELECT device.nth, any_value(device.rank) AS rank, any_value(is_refused) AS is_refused,
    any_value(CASE WHEN is_refused THEN oom_bytes ELSE peak_active_bytes END) AS active_bytes,
    list(component) FILTER (component IS NOT NULL) AS names, list(bytes::BIGINT) FILTER (component IS NOT NULL) AS bytes
  FROM device LEFT JOIN component ON component.nth = device.nth
  GROUP BY device.nth),
failure AS (
  SELECT count(*) AS failures, count(*) FILTER (incident.is_oom) AS ooms,
    arg_min(incident.kind, incident.kind IN
      ('timeout', 'connection_lost', 'hardware', 'time_limit', 'cancelled', 'preempted', 'killed', 'nccl_unknown', 'nccl_not_oom')) AS kind
  FROM incident JOIN source ON source.source_id = incident.source_id
  WHERE source.run_id = (SELECT run_id FROM target) AND incident.kind <> 'negative_text'),
progress AS (SELECT max(iteration) AS last_iteration FROM iteration WHERE run_id = (SELECT run_id FROM target)),
ending AS (
  SELECT
    CASE
      WHEN failure.ooms > 0 OR EXISTS (
        SELECT 1 FROM trace_oom JOIN snapshot ON snapshot.snapshot_id = trace_oom.snapshot_id
        WHERE snapshot.run_id = (SELECT run_id FROM target)) THEN 'oom'
      WHEN failure.failures > 0 THEN 'failed'
      WHEN EXISTS (
        SELECT 1 FROM phase WHERE phase.run_id = (SELECT run_id FROM target) AND phase.phase = 'finished'
          AND phase.attempt = (
            SELECT max(every.attempt) FROM phase AS every WHERE every.run_id = (SELECT run_id FROM target))) THEN 'completed'
      WHEN progress.last_iteration IS NULL THEN 'no_training'
      ELSE 'stopped' END AS ending, progress.last_iteration, failure.kind
  FROM failure, progress),
line AS (
  SELECT iteration, CASE WHEN isfinite(printed.loss) THEN printed.loss END AS loss
  FROM iteration_lines((SELECT run_id FROM target)) AS printed
  QUALIFY attempt = max(attempt) OVER ()
    AND row_number() OVER (PARTITION BY attempt, iteration ORDER BY display_path DESC, printed.line DESC, place DESC) = 1),
thinned AS (
  SELECT iteration, loss, row_number() OVER (ORDER BY iteration) - 1 AS nth, count(*) OVER () AS lines
  FROM line
  QUALIFY nth % greatest(1, ceil(lines / 2000)) = 0 OR nth = lines - 1)
SELECT target.name AS run, to_json({
  'status': {'ending': ending.ending, 'last_iteration': ending.last_iteration, 'failure': {'kind': ending.kind}},
  'ranks': (SELECT list(held) FROM memory_of_ranks((SELECT run_id FROM target)) AS held),
  'peaks': (
    SELECT list({'rank': rank, 'moment': CASE WHEN is_refused THEN 'oom' ELSE 'peak' END, 'active_bytes': active_bytes,
      'components': CASE WHEN NOT is_refused THEN map(coalesce(names, []), coalesce(bytes, [])) END} ORDER BY nth)
    FROM peak),
  'steps': (
    SELECT {'from': first_iteration, 'to': last_iteration, 'count': iterations, 'independent': independent,
      'median_ms': median_ms, 'spread_ms': spread_ms,
      'median_tflops': median_tflops, 'spread_tflops': spread_tflops}
    FROM steady_steps((SELECT run_id FROM target)) AS steady),
  'series': (SELECT {'iteration': list(iteration ORDER BY nth), 'loss': list(loss ORDER BY nth)} FROM thinned)})::VARCHAR AS document
FROM target, ending
