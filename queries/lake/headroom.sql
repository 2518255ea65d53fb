-- @name    lake.headroom
-- @title   Memory left of the device by pipeline stage
-- @param   run VARCHAR   one run; empty: all
-- @default run
-- @param   device_total_bytes BIGINT  total of a device where no file has it; 0: unknown
-- @default device_total_bytes 0
-- @col     run VARCHAR          the run
-- @col     stage INTEGER?       pipeline stage; NULL: the layout is unknown
-- @col     ranks BIGINT         ranks of the stage that have figures
-- @col     failed_ranks BIGINT  ranks that ran out of memory
-- @col     peak_allocated_bytes BIGINT?  the most of any rank, by snapshots, else by logs
-- @col     peak_reserved_bytes BIGINT?   the most of any rank
-- @col     fullest_rank INTEGER?         rank that reserves most
-- @col     device_total_bytes BIGINT?    of the device of that rank
-- @col     headroom_bytes BIGINT?        total less what that rank reserves; memory outside PyTorch is in it too
-- @why     Stages differ in layers, embeddings and live micro-batches: the fullest one limits the run.
WITH figure AS (
  SELECT run, stage, rank, traced_ooms, printed_ooms,
    COALESCE(peak_active_bytes, printed_peak_allocated_bytes) AS allocated_bytes,
    COALESCE(peak_reserved_bytes, printed_peak_reserved_bytes) AS reserved_bytes,
    COALESCE(device_total_bytes, CASE WHEN $device_total_bytes > 0 THEN $device_total_bytes END) AS total_bytes
  FROM rank_summary
  WHERE rank IS NOT NULL AND ($run = '' OR run = $run)),
place AS (
  SELECT run, stage, rank, allocated_bytes, reserved_bytes, total_bytes,
    CASE WHEN traced_ooms > 0 OR printed_ooms > 0 THEN 1 ELSE 0 END AS has_failed,
    ROW_NUMBER() OVER (PARTITION BY run, stage
      ORDER BY reserved_bytes DESC NULLS LAST, allocated_bytes DESC NULLS LAST, rank ASC NULLS LAST) AS place
  FROM figure)
SELECT run, stage, COUNT(*) AS ranks, COUNT(CASE WHEN has_failed = 1 THEN 1 END) AS failed_ranks,
  MAX(allocated_bytes) AS peak_allocated_bytes, MAX(reserved_bytes) AS peak_reserved_bytes,
  MAX(CASE WHEN place = 1 THEN rank END) AS fullest_rank,
  MAX(CASE WHEN place = 1 THEN total_bytes END) AS device_total_bytes,
  MAX(CASE WHEN place = 1 THEN total_bytes - reserved_bytes END) AS headroom_bytes
FROM place
GROUP BY run, stage
ORDER BY run ASC NULLS LAST, stage ASC NULLS LAST
