-- @name   library.rank_summary
-- @kind   table
-- @title  Peaks and failures of every rank of every run, from snapshots and logs
-- @col    run                 VARCHAR  name of the run
-- @col    run_id              INTEGER  the run
-- @col    rank                INTEGER?  global rank
-- @col    snapshots           BIGINT  number of snapshots
-- @col    traces              BIGINT  of these, with a trace
-- @col    peak_active_bytes   BIGINT?   of the snapshots: actual sizes, pending frees included
-- @col    peak_reserved_bytes BIGINT?  reserved at most, by the snapshots
-- @col    dumped_active_bytes BIGINT?   the most at a dump
-- @col    printed_peak_allocated_bytes BIGINT?  the most allocated by a log line or metric
-- @col    printed_peak_reserved_bytes  BIGINT?  reserved at most, by logs and metrics
-- @col    traced_ooms         BIGINT    oom entries of traces
-- @col    printed_ooms        BIGINT?   messages of logs; NULL: a log has more of them than are counted by rank
-- @col    stage               INTEGER?  pipeline stage, by the layout of the run
-- @col    host                VARCHAR?  where most of its lines are from
-- @col    device_total_bytes  BIGINT?   of its device: by its messages, its samples, else what all others of the run agree on
-- @why    One row per rank shows which rank is fullest, and which failed first. A device is counted where its rank uses most.
WITH traced AS (
  SELECT snapshot.run_id, snapshot.rank, count(DISTINCT snapshot.snapshot_id) AS snapshots,
    count(DISTINCT snapshot.snapshot_id) FILTER (snapshot.has_traces) AS traces, max(history.peak_active_bytes) AS peak_active,
    max(history.peak_reserved_bytes) AS peak_reserved, max(device.active_bytes) AS dumped
  FROM snapshot
  LEFT JOIN derived_history AS history ON history.snapshot_id = snapshot.snapshot_id
  LEFT JOIN snapshot_device AS device ON device.snapshot_id = history.snapshot_id AND device.device = history.device
  GROUP BY snapshot.run_id, snapshot.rank),
ooms AS (
  SELECT snapshot.run_id, snapshot.rank, count(*) AS ooms FROM trace_oom JOIN snapshot ON snapshot.snapshot_id = trace_oom.snapshot_id
  GROUP BY snapshot.run_id, snapshot.rank),
printed AS (
  SELECT run_id, rank, max(bytes) FILTER (metric IN ('max_allocated', 'max_active', 'allocated')) AS allocated,
    max(bytes) FILTER (metric IN ('max_reserved', 'reserved')) AS reserved
  FROM memory_sample GROUP BY run_id, rank),
failed AS (
  SELECT source.run_id, coalesce(message.rank, source.rank) AS rank, sum(message.count)::BIGINT AS ooms
  FROM (
    SELECT source_id, rank, 1 AS count FROM incident WHERE is_oom
    UNION ALL SELECT source_id, rank, count FROM incident_dropped WHERE is_oom AND kind IS NOT NULL) AS message
  JOIN source ON source.source_id = message.source_id
  GROUP BY ALL),
uncounted AS (
  SELECT DISTINCT source.run_id
  FROM incident_dropped AS dropped JOIN source ON source.source_id = dropped.source_id
  WHERE dropped.is_oom AND dropped.kind IS NULL),
place AS (
  SELECT run_id, rank, host FROM (
    SELECT run_id, rank, host FROM memory_sample
    UNION ALL
    SELECT run_id, rank, host FROM env_value
    UNION ALL
    SELECT source.run_id, coalesce(incident.rank, source.rank), incident.host FROM incident JOIN source USING (source_id)
    UNION ALL
    SELECT source.run_id, process.rank, report.host FROM nsys_process AS process JOIN nsys_report AS report USING (source_id)
      JOIN source USING (source_id))
  WHERE rank IS NOT NULL AND host IS NOT NULL
  GROUP BY run_id, rank, host
  QUALIFY row_number() OVER (PARTITION BY run_id, rank ORDER BY count(*) DESC, host) = 1),
-- A message prints what PyTorch may take; a sample has the driver's own reserve as well.
total AS (
  SELECT run_id, rank, min(total_bytes) AS least, max(total_bytes) AS most, 1 AS source FROM oom
  WHERE total_from = 'message' GROUP BY run_id, rank
  UNION ALL
  SELECT run_id, rank, min(bytes), max(bytes), 2 FROM memory_sample WHERE metric = 'device_total' GROUP BY run_id, rank),
own_total AS (
  SELECT run_id, rank, most AS bytes FROM total WHERE rank IS NOT NULL
  QUALIFY row_number() OVER (PARTITION BY run_id, rank ORDER BY source) = 1),
run_total AS (
  SELECT run_id, max(most) AS bytes FROM total
  GROUP BY run_id, source HAVING min(least) = max(most)
  QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY source) = 1),
ranks AS (
  SELECT run_id, rank FROM traced UNION SELECT run_id, rank FROM printed UNION SELECT run_id, rank FROM failed)
SELECT
  run.name AS run, ranks.run_id, ranks.rank, coalesce(traced.snapshots, 0) AS snapshots,
  coalesce(traced.traces, 0) AS traces, traced.peak_active AS peak_active_bytes,
  traced.peak_reserved AS peak_reserved_bytes, traced.dumped AS dumped_active_bytes, printed.allocated AS printed_peak_allocated_bytes,
  printed.reserved AS printed_peak_reserved_bytes, coalesce(ooms.ooms, 0) AS traced_ooms,
  CASE WHEN uncounted.run_id IS NULL THEN coalesce(failed.ooms, 0) END AS printed_ooms,
  (ranks.rank // launch.stage_stride % launch.stages)::INTEGER AS stage, place.host,
  coalesce(own_total.bytes, run_total.bytes) AS device_total_bytes
FROM ranks
JOIN run ON run.run_id = ranks.run_id
LEFT JOIN traced ON traced.run_id = ranks.run_id AND traced.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN ooms ON ooms.run_id = ranks.run_id AND ooms.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN printed ON printed.run_id = ranks.run_id AND printed.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN failed ON failed.run_id = ranks.run_id AND failed.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN uncounted ON uncounted.run_id = ranks.run_id
LEFT JOIN judged_run AS launch ON launch.run_id = ranks.run_id
LEFT JOIN place ON place.run_id = ranks.run_id AND place.rank = ranks.rank
LEFT JOIN own_total ON own_total.run_id = ranks.run_id AND own_total.rank = ranks.rank
LEFT JOIN run_total ON run_total.run_id = ranks.run_id
