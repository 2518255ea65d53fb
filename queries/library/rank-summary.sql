-- @name   library.rank_summary
-- @kind   table
-- @title  Peaks and failures of every rank of every run, from snapshots and logs
-- @col    run                 VARCHAR  name of the run
-- @col    run_id              INTEGER  the run
-- @col    rank                INTEGER?  global rank
-- @col    snapshots           BIGINT  number of snapshots
-- @col    peak_active_bytes   BIGINT?   of the snapshots: actual sizes, pending frees included
-- @col    peak_reserved_bytes BIGINT?  reserved at most, by the snapshots
-- @col    dumped_active_bytes BIGINT?   the most at a dump
-- @col    printed_peak_allocated_bytes BIGINT?  the most allocated by a log line or metric
-- @col    printed_peak_reserved_bytes  BIGINT?  reserved at most, by logs and metrics
-- @col    traced_ooms         BIGINT    oom entries of traces
-- @col    printed_ooms        BIGINT?   messages of logs; NULL: a log has more of them than are counted by rank
-- @why    One row per rank shows which rank is fullest, and which failed first. A device is counted where its rank uses most.
WITH traced AS (
  SELECT snapshot.run_id, snapshot.rank, count(DISTINCT snapshot.snapshot_id) AS snapshots, max(history.peak_active_bytes) AS peak_active,
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
ranks AS (
  SELECT run_id, rank FROM traced UNION SELECT run_id, rank FROM printed UNION SELECT run_id, rank FROM failed)
SELECT
  run.name AS run, ranks.run_id, ranks.rank, coalesce(traced.snapshots, 0) AS snapshots, traced.peak_active AS peak_active_bytes,
  traced.peak_reserved AS peak_reserved_bytes, traced.dumped AS dumped_active_bytes, printed.allocated AS printed_peak_allocated_bytes,
  printed.reserved AS printed_peak_reserved_bytes, coalesce(ooms.ooms, 0) AS traced_ooms,
  CASE WHEN uncounted.run_id IS NULL THEN coalesce(failed.ooms, 0) END AS printed_ooms
FROM ranks
JOIN run ON run.run_id = ranks.run_id
LEFT JOIN traced ON traced.run_id = ranks.run_id AND traced.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN ooms ON ooms.run_id = ranks.run_id AND ooms.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN printed ON printed.run_id = ranks.run_id AND printed.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN failed ON failed.run_id = ranks.run_id AND failed.rank IS NOT DISTINCT FROM ranks.rank
LEFT JOIN uncounted ON uncounted.run_id = ranks.run_id
