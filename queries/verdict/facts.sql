-- @name   verdict.facts
-- @title  The facts of the failures of some runs, by which the tests of causes judge them
-- @param  run_ids VARCHAR  of runs, joined by commas; judged_run, judged_rank, judged_trace and judged_lines have their rows
-- @param  capacity_bytes BIGINT?  total of the device, where the user gives it
-- @uses   verdict.traced_ooms
-- @of     oom_fact
-- @why    Rows of oom_fact. A snapshot is exact and lacks the device's total and other processes; a message has these, rounded. Both are
--         one failure where rank and device do not differ and the printed segment is that of the traced request. Of the launch that failed
--         first, each rank and device without a trace has one failure: the first message with figures, since tracebacks are printed by
--         every layer that catches them. Of a run without an OOM, the first failure.
WITH message AS (
  SELECT * EXCLUDE (text), row_number() OVER (PARTITION BY run_id ORDER BY path, line, incident_id) AS place
  FROM oom_message
  WHERE list_contains(string_split($run_ids, ',')::INTEGER[], run_id)),
launch AS (
  SELECT * FROM judged_run WHERE list_contains(string_split($run_ids, ',')::INTEGER[], run_id)),
-- The devices of a run are alike: a total that all messages agree on, within their rounding, is that of every device.
run_total AS (
  SELECT run_id, any_value(first_bytes) AS total_bytes, any_value(first_precision_bytes) AS total_precision_bytes
  FROM (
    SELECT run_id, total_bytes, total_precision_bytes, first(total_bytes) OVER places AS first_bytes,
      first(total_precision_bytes) OVER places AS first_precision_bytes
    FROM message
    WHERE total_bytes IS NOT NULL
    WINDOW places AS (PARTITION BY run_id ORDER BY place)) AS printed
  GROUP BY run_id
  HAVING bool_and(abs(total_bytes - first_bytes) <= total_precision_bytes + first_precision_bytes)),
-- The messages that a traced OOM printed, those of a known rank first.
same AS (
  SELECT traced.run_id, traced.failure, message.incident_id,
    row_number() OVER (PARTITION BY traced.run_id, traced.failure ORDER BY message.rank IS NULL, message.place) AS nth
  FROM traced_ooms AS traced
  JOIN message ON message.run_id = traced.run_id
  WHERE message.is_oom AND coalesce(message.rank = traced.rank, true) AND coalesce(message.device = traced.device, true)
    AND abs(message.requested_bytes - traced.segment_request_bytes) <= message.requested_precision_bytes + 1),
in_launch AS (
  SELECT message.*
  FROM message
  JOIN launch ON launch.run_id = message.run_id
  WHERE message.is_oom AND coalesce(message.attempt = launch.failed_attempt, true)),
-- One per rank and device. An echo without either adds nothing to one that has them, unless it has figures.
distinct_message AS (
  SELECT *, min(place) OVER (PARTITION BY run_id, rank, device) AS first_place
  FROM in_launch
  WHERE incident_id NOT IN (SELECT incident_id FROM same)
  QUALIFY row_number() OVER (PARTITION BY run_id, rank, device ORDER BY figures = 0, place) = 1),
alone AS (
  SELECT message.run_id, message.rank, message.device, message.incident_id, message.first_place
  FROM (SELECT *, count(*) OVER (PARTITION BY run_id) AS messages FROM distinct_message) AS message
  LEFT JOIN (SELECT run_id, rank, list(device) AS devices FROM traced_ooms GROUP BY ALL) AS traced
    ON traced.run_id = message.run_id AND traced.rank IS NOT DISTINCT FROM message.rank
  WHERE (message.rank IS NOT NULL OR message.device IS NOT NULL OR message.figures > 0 OR message.messages = 1)
    AND (traced.run_id IS NULL OR NOT list_contains(traced.devices, message.device))),
-- A rank that no prefix names may be any.
counted AS (
  SELECT run_id, count(*) FILTER (is_traced) AS traced, CASE WHEN count(rank) = 0 THEN count(*) ELSE count(DISTINCT rank) END AS ranks
  FROM (SELECT run_id, rank, true AS is_traced FROM traced_ooms UNION ALL SELECT run_id, rank, false FROM in_launch) AS known
  GROUP BY run_id),
numbered AS (
  SELECT traced.run_id, traced.failure, traced.rank, traced.device, same.incident_id
  FROM traced_ooms AS traced
  LEFT JOIN same ON same.run_id = traced.run_id AND same.failure = traced.failure AND same.nth = 1
  UNION ALL
  SELECT alone.run_id, counted.traced + row_number() OVER (PARTITION BY alone.run_id ORDER BY alone.first_place) - 1, alone.rank,
    alone.device, alone.incident_id
  FROM alone
  JOIN counted ON counted.run_id = alone.run_id),
failure AS (
  FROM numbered
  UNION ALL
  SELECT run_id, 0, rank, device, NULL FROM launch
  WHERE kind IS NOT NULL AND run_id NOT IN (SELECT run_id FROM numbered)),
hole AS (
  SELECT snapshot_id, device, sum(bytes) FILTER (reason IN ('too_small', 'kept_for_larger', 'large_enough'))::BIGINT AS usable_bytes,
    max(bytes) FILTER (reason IN ('too_small', 'kept_for_larger', 'large_enough')) AS largest_usable_bytes,
    sum(bytes) FILTER (reason = 'other_stream')::BIGINT AS other_stream_bytes,
    sum(bytes) FILTER (reason = 'other_size_class')::BIGINT AS other_class_bytes,
    sum(bytes) FILTER (reason = 'private_pool')::BIGINT AS private_free_bytes
  FROM oom_hole
  GROUP BY snapshot_id, device)
SELECT
  failure.run_id, failure.failure::INTEGER AS failure, failure.rank, failure.device, traced.snapshot_id, traced.seq, failure.incident_id,
  CASE WHEN traced.snapshot_id IS NULL AND message.incident_id IS NULL THEN launch.kind ELSE message.kind END AS kind,
  CASE WHEN traced.snapshot_id IS NULL AND message.incident_id IS NULL THEN launch.text ELSE incident.text END AS text,
  coalesce(traced.requested_bytes, message.requested_bytes) AS request_bytes,
  -- A message prints the segment that torch wanted: 2 MiB for up to 1 MiB, 20 MiB for 1 to 10 MiB; others are rounded up to 2 MiB.
  CASE WHEN traced.snapshot_id IS NOT NULL THEN traced.requested_bytes
    WHEN message.requested_bytes IS NULL THEN 0
    WHEN message.requested_bytes <= 2097152 THEN 512
    WHEN abs(message.requested_bytes - 20971520) <= message.requested_precision_bytes THEN 1048576 + 512
    ELSE greatest(0, message.requested_bytes - message.requested_precision_bytes - 2097152 + 512) END AS least_request_bytes,
  coalesce(traced.segment_request_bytes, message.requested_bytes) AS segment_request_bytes,
  coalesce(traced.reserved_bytes, message.reserved_bytes) AS reserved_bytes,
  CASE WHEN traced.snapshot_id IS NULL THEN message.reserved_precision_bytes ELSE 0 END AS reserved_precision_bytes,
  coalesce(traced.allocated_bytes, message.allocated_bytes) AS allocated_bytes,
  CASE WHEN traced.snapshot_id IS NULL THEN message.allocated_precision_bytes ELSE 0 END AS allocated_precision_bytes,
  traced.pending_bytes, traced.freed_by_wait_bytes,
  coalesce(traced.device_free_bytes, message.free_bytes) AS device_free_bytes,
  CASE WHEN traced.device_free_bytes IS NULL THEN message.free_precision_bytes ELSE 0 END AS device_free_precision_bytes,
  coalesce(message.total_bytes, $capacity_bytes, run_total.total_bytes, context.monitored_total_bytes) AS total_bytes,
  -- The driver counts its own reserve, about half a GiB, in the total of a device; PyTorch does not. A sample does not show which it is.
  CASE WHEN message.total_bytes IS NOT NULL THEN message.total_precision_bytes WHEN $capacity_bytes IS NOT NULL THEN 0
    WHEN run_total.total_bytes IS NOT NULL THEN run_total.total_precision_bytes
    WHEN context.monitored_total_bytes IS NOT NULL THEN 1073741824 END AS total_precision_bytes,
  CASE WHEN message.total_bytes IS NOT NULL THEN 'message' WHEN $capacity_bytes IS NOT NULL THEN 'capacity'
    WHEN run_total.total_bytes IS NOT NULL THEN 'run' WHEN context.monitored_total_bytes IS NOT NULL THEN 'monitor' END AS total_from,
  message.process_bytes, message.process_precision_bytes, coalesce(message.other_processes_bytes, 0) AS other_processes_bytes,
  coalesce(message.other_processes_precision_bytes, 0) AS other_processes_precision_bytes,
  coalesce(message.sibling_processes, 0) AS sibling_processes, coalesce(message.sibling_bytes, 0) AS sibling_bytes,
  coalesce(message.impossible, []) AS impossible,
  CASE WHEN traced.snapshot_id IS NULL THEN message.cached_precision_bytes ELSE 0 END AS cached_precision_bytes, message.allowed_bytes,
  message.allowed_precision_bytes,
  CASE WHEN traced.snapshot_id IS NULL THEN message.private_free_bytes ELSE coalesce(hole.private_free_bytes, 0) END
    AS private_free_bytes,
  CASE WHEN traced.snapshot_id IS NULL THEN message.private_free_precision_bytes ELSE 0 END AS private_free_precision_bytes,
  traced.oversize_slack_bytes, traced.power2_rounding_bytes AS rounding_waste_bytes, traced.snapshot_id IS NOT NULL AS has_free_space,
  CASE WHEN traced.snapshot_id IS NOT NULL THEN coalesce(hole.usable_bytes, 0) END AS usable_bytes,
  CASE WHEN traced.snapshot_id IS NOT NULL THEN coalesce(hole.largest_usable_bytes, 0) END AS largest_usable_bytes,
  CASE WHEN traced.snapshot_id IS NOT NULL THEN coalesce(hole.other_stream_bytes, 0) END AS other_stream_bytes,
  CASE WHEN traced.snapshot_id IS NOT NULL THEN coalesce(hole.other_class_bytes, 0) END AS other_class_bytes,
  coalesce(traced.expandable_segments, context.is_expandable) AS is_expandable,
  CASE WHEN traced.snapshot_id IS NULL THEN context.max_split_bytes ELSE traced.max_split_bytes END AS max_split_bytes,
  traced.holds AS walk_is_exact, traced.uncertain_bytes,
  trace.run_id IS NOT NULL AS has_trace, trace.steps_by IS NOT NULL AS has_steps, trace.steps_by, trace.is_whole AS trace_is_whole,
  trace.has_earlier_states, trace.repeated_bytes, trace.activity AS trace_activity, trace.activity_bytes, trace.copied_bytes,
  trace.projected_bytes, trace.alike_share,
  lines.* EXCLUDE (run_id, rank, only_this_stage, several_replicas, other_ranks),
  context.activity AS run_activity, CASE WHEN context.run_id IS NOT NULL THEN launch.completed_steps END AS completed_steps,
  CASE WHEN context.run_id IS NOT NULL THEN TRY_CAST(launch.stages AS INTEGER) END AS stages,
  coalesce(lines.only_this_stage, false) AS only_this_stage, coalesce(lines.several_replicas, false) AS several_replicas,
  coalesce(context.nccl_signs, 0) AS nccl_signs,
  CASE WHEN context.run_id IS NOT NULL THEN coalesce(counted.ranks = 1, false) END AS failed_alone,
  CASE WHEN context.run_id IS NOT NULL THEN coalesce(lines.other_ranks, 0) END AS other_ranks,
  context.run_id IS NOT NULL AND launch.has_environment IS TRUE AS has_environment,
  context.driver_outside_bytes, context.driver_nccl_bytes, context.driver_grown_bytes, context.monitored_others_bytes
FROM failure
JOIN launch ON launch.run_id = failure.run_id
LEFT JOIN traced_ooms AS traced ON traced.run_id = failure.run_id AND traced.failure = failure.failure
LEFT JOIN message ON message.incident_id = failure.incident_id
LEFT JOIN incident ON incident.incident_id = failure.incident_id
LEFT JOIN judged_trace AS trace ON trace.run_id = failure.run_id AND trace.failure = failure.failure
LEFT JOIN hole ON hole.snapshot_id = traced.snapshot_id AND hole.device = traced.device
LEFT JOIN judged_rank AS context ON context.run_id = failure.run_id AND context.rank IS NOT DISTINCT FROM failure.rank
LEFT JOIN judged_lines AS lines ON lines.run_id = failure.run_id AND lines.rank IS NOT DISTINCT FROM failure.rank
LEFT JOIN run_total ON run_total.run_id = context.run_id
LEFT JOIN counted ON counted.run_id = failure.run_id
ORDER BY failure.run_id, failure.failure
