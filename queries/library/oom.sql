-- @name   library.oom
-- @kind   table
-- @title  Every out-of-memory failure of a run, with the figures of its snapshot and of its message
-- @col    run             VARCHAR  name of the run
-- @col    run_id          INTEGER  the run
-- @col    rank            INTEGER?  global rank
-- @col    device          INTEGER?  device
-- @col    attempt         INTEGER?  launch, of a failure that only a log has
-- @col    kind            VARCHAR?  of the message
-- @col    snapshot_id     INTEGER?  the snapshot
-- @col    snapshot_path   VARCHAR?  file of the snapshot
-- @col    seq             INTEGER?  OOM entry of the trace
-- @col    is_last         BOOLEAN?  the last OOM entry of its device; earlier ones were survived, and their state is not derived
-- @col    incident_id     INTEGER?  the message
-- @col    message_path    VARCHAR?  file of the message
-- @col    message_line    BIGINT?  line of the message
-- @col    requested_bytes BIGINT?   a snapshot has the rounded request, a message the segment that torch wanted
-- @col    requested_from  VARCHAR?  snapshot or message; so for all figures
-- @col    requested_precision_bytes BIGINT?  half of the last printed digit; 0 in a snapshot
-- @col    total_bytes     BIGINT?   of the device
-- @col    total_from      VARCHAR?  message; run: other messages of the run agree; monitor: of the same rank, by the driver
-- @col    total_precision_bytes BIGINT?  half of the last printed digit
-- @col    free_bytes      BIGINT?   of the device
-- @col    free_from       VARCHAR?  source of the figure
-- @col    free_precision_bytes BIGINT?  half of the last printed digit
-- @col    reserved_bytes  BIGINT?  from the driver through this allocator
-- @col    reserved_from   VARCHAR?  source of the figure
-- @col    reserved_precision_bytes BIGINT?  half of the last printed digit
-- @col    allocated_bytes BIGINT?   without the free blocks of private pools, which torch 2.4 and later print as allocated
-- @col    allocated_from  VARCHAR?  source of the figure
-- @col    allocated_precision_bytes BIGINT?  half of the last printed digit
-- @col    process_bytes   BIGINT?   this process, memory outside PyTorch included
-- @col    process_from    VARCHAR?  source of the figure
-- @col    process_precision_bytes BIGINT?  half of the last printed digit
-- @col    other_processes_bytes BIGINT?  of other processes on the device
-- @col    other_processes_from  VARCHAR?  source of the figure
-- @col    other_processes_precision_bytes BIGINT?  half of the last printed digit
-- @col    allowed_bytes   BIGINT?   limit of a memory fraction
-- @col    allowed_from    VARCHAR?  source of the figure
-- @col    allowed_precision_bytes BIGINT?  half of the last printed digit
-- @col    outside_bytes   BIGINT?   total - free - reserved (the process, where reserved is unknown): not of this allocator
-- @col    outside_precision_bytes BIGINT?  half of the last printed digit
-- @needs  incident trace_oom
-- @why    A snapshot is exact and lacks the device's total and other processes; a message has these, rounded. Both are one failure where
--         rank and device do not differ and the printed segment is that of the traced request. Of a launch, rank and device without a
--         trace, the first message with figures counts: tracebacks are printed by every layer that catches them.
WITH message AS (FROM oom_message),
first_total AS (
  SELECT run_id, first(total_bytes ORDER BY path, line, incident_id) AS total,
    first(total_precision_bytes ORDER BY path, line, incident_id) AS total_p
  FROM message WHERE total_bytes IS NOT NULL GROUP BY run_id),
run_total AS (
  SELECT first_total.run_id, first_total.total, first_total.total_p
  FROM first_total JOIN message ON message.run_id = first_total.run_id AND message.total_bytes IS NOT NULL
  GROUP BY ALL
  HAVING bool_and(abs(message.total_bytes - first_total.total) <= message.total_precision_bytes + first_total.total_p)),
monitor AS (SELECT run_id, rank, max(bytes) AS total FROM gauge WHERE metric = 'device_total' AND rank IS NOT NULL GROUP BY run_id, rank),
traced AS (
  SELECT snapshot.run_id, snapshot.rank, trace.snapshot_id, trace.device, trace.seq, source.display_path AS path, trace.requested_bytes,
    trace.device_free_bytes, state.seq IS NOT NULL AS is_last, state.segment_request_bytes, state.reserved_bytes, state.allocated_bytes
  FROM trace_oom AS trace
  JOIN snapshot ON snapshot.snapshot_id = trace.snapshot_id
  JOIN source ON source.source_id = snapshot.source_id
  LEFT JOIN oom_state AS state ON state.snapshot_id = trace.snapshot_id AND state.device = trace.device AND state.seq = trace.seq),
same AS (
  SELECT traced.snapshot_id, traced.device, traced.seq, message.incident_id, row_number() OVER (
      PARTITION BY traced.snapshot_id, traced.device, traced.seq
      ORDER BY message.rank IS NULL, message.path, message.line, message.incident_id) AS nth
  FROM traced JOIN message ON message.run_id = traced.run_id
  WHERE traced.is_last AND message.is_oom AND coalesce(message.rank = traced.rank, true) AND coalesce(message.device = traced.device, true)
    AND abs(message.requested_bytes - traced.segment_request_bytes) <= message.requested_precision_bytes + 1),
alone AS (
  SELECT * FROM message
  WHERE is_oom AND incident_id NOT IN (SELECT incident_id FROM same)
    AND NOT EXISTS (FROM traced WHERE traced.run_id = message.run_id AND traced.rank IS NOT DISTINCT FROM message.rank
      AND (message.device IS NULL OR traced.device = message.device))
  QUALIFY row_number() OVER (PARTITION BY run_id, attempt, rank, device ORDER BY figures = 0, path, line, incident_id) = 1),
failure AS (
  SELECT traced.run_id, traced.rank, traced.device, traced.snapshot_id, traced.path AS snapshot_path, traced.seq, traced.is_last,
    traced.requested_bytes, traced.device_free_bytes, traced.reserved_bytes, traced.allocated_bytes, same.incident_id
  FROM traced
  LEFT JOIN same ON same.snapshot_id = traced.snapshot_id AND same.device = traced.device AND same.seq = traced.seq AND same.nth = 1
  UNION ALL
  SELECT run_id, rank, device, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, incident_id FROM alone),
joined AS (
  SELECT run.name AS run, run.run_id, failure.rank, failure.device,
    CASE WHEN failure.snapshot_id IS NULL THEN message.attempt END AS attempt,
    message.kind, failure.snapshot_id, failure.snapshot_path, failure.seq, failure.is_last, failure.incident_id,
    message.path AS message_path, message.line AS message_line,
    coalesce(failure.requested_bytes, message.requested_bytes) AS requested_bytes,
    CASE WHEN failure.requested_bytes IS NULL THEN message.requested_precision_bytes ELSE 0 END AS requested_p,
    coalesce(message.total_bytes, run_total.total, monitor.total) AS total_bytes,
    CASE WHEN message.total_bytes IS NOT NULL THEN 'message' WHEN run_total.total IS NOT NULL THEN 'run' WHEN monitor.total IS NOT NULL
      THEN 'monitor' END AS total_from,
    -- The driver counts its own reserve, about half a GiB, in the total of a device; PyTorch does not.
    CASE WHEN message.total_bytes IS NOT NULL THEN message.total_precision_bytes WHEN run_total.total IS NOT NULL
      THEN run_total.total_p ELSE 1073741824 END AS total_p,
    coalesce(failure.device_free_bytes, message.free_bytes) AS free_bytes,
    CASE WHEN failure.device_free_bytes IS NULL THEN message.free_precision_bytes ELSE 0 END AS free_p,
    coalesce(failure.reserved_bytes, message.reserved_bytes) AS reserved_bytes,
    CASE WHEN failure.reserved_bytes IS NULL THEN message.reserved_precision_bytes ELSE 0 END AS reserved_p,
    coalesce(failure.allocated_bytes, message.allocated_bytes) AS allocated_bytes,
    CASE WHEN failure.allocated_bytes IS NULL THEN message.allocated_precision_bytes ELSE 0 END AS allocated_p,
    message.process_bytes AS process, message.process_precision_bytes AS process_p, message.other_processes_bytes AS others,
    message.other_processes_precision_bytes AS others_p, message.allowed_bytes AS allowed, message.allowed_precision_bytes AS allowed_p,
    failure.device_free_bytes AS traced_free, failure.reserved_bytes AS traced_reserved
  FROM failure
  JOIN run ON run.run_id = failure.run_id
  LEFT JOIN message ON message.incident_id = failure.incident_id
  LEFT JOIN run_total ON run_total.run_id = failure.run_id
  LEFT JOIN monitor ON monitor.run_id = failure.run_id AND monitor.rank = failure.rank)
SELECT
  run, run_id, rank, device, attempt, kind, snapshot_id, snapshot_path, seq, is_last, incident_id, message_path, message_line,
  requested_bytes, CASE WHEN requested_bytes IS NOT NULL THEN CASE WHEN snapshot_id IS NULL THEN 'message' ELSE 'snapshot' END END
    AS requested_from, requested_p::BIGINT AS requested_precision_bytes,
  total_bytes, total_from, CASE WHEN total_bytes IS NOT NULL THEN total_p END::BIGINT AS total_precision_bytes,
  free_bytes, CASE WHEN traced_free IS NOT NULL THEN 'snapshot' WHEN free_bytes IS NOT NULL THEN 'message' END AS free_from,
  free_p::BIGINT AS free_precision_bytes,
  reserved_bytes, CASE WHEN traced_reserved IS NOT NULL THEN 'snapshot' WHEN reserved_bytes IS NOT NULL THEN 'message' END AS reserved_from,
  reserved_p::BIGINT AS reserved_precision_bytes,
  allocated_bytes,
  CASE WHEN traced_reserved IS NOT NULL THEN 'snapshot' WHEN allocated_bytes IS NOT NULL THEN 'message' END AS allocated_from,
  allocated_p::BIGINT AS allocated_precision_bytes,
  process::BIGINT AS process_bytes, CASE WHEN process IS NOT NULL THEN 'message' END AS process_from,
  process_p::BIGINT AS process_precision_bytes,
  others::BIGINT AS other_processes_bytes, CASE WHEN others IS NOT NULL THEN 'message' END AS other_processes_from,
  others_p::BIGINT AS other_processes_precision_bytes,
  allowed AS allowed_bytes, CASE WHEN allowed IS NOT NULL THEN 'message' END AS allowed_from, allowed_p::BIGINT AS allowed_precision_bytes,
  (total_bytes - free_bytes - coalesce(reserved_bytes, process))::BIGINT AS outside_bytes,
  CASE WHEN total_bytes - free_bytes - coalesce(reserved_bytes, process) IS NOT NULL
    THEN total_p + free_p + CASE WHEN reserved_bytes IS NULL THEN process_p ELSE reserved_p END END::BIGINT AS outside_precision_bytes
FROM joined
