-- @name    lake.exact_peaks
-- @title   Exact peak of each rank, from every entry of its traces
-- @param   run VARCHAR   one run; empty: all
-- @default run
-- @param   rank BIGINT   one rank; -1: all
-- @default rank -1
-- @col     run VARCHAR           the run
-- @col     rank INTEGER?         global rank
-- @col     snapshot INTEGER?     number of the snapshot in its file
-- @col     device INTEGER        CUDA ordinal
-- @col     before_bytes DECIMAL(38,0)  live before the first entry, requested sizes
-- @col     peak_requested_bytes DECIMAL(38,0)  live at most, requested sizes
-- @col     peak_seq INTEGER      first entry after which so much was live; -1: before the first
-- @col     entries BIGINT        allocations and completed frees that were added up
-- @why     Needs the events (lake add --events). Sums of the answers are of actual sizes; this one is of requested sizes, with nothing
--          between it and the recording.
WITH change AS (
  SELECT run, rank, snapshot, snapshot_id, device, seq,
    CASE WHEN action = 'alloc' THEN size_bytes ELSE -size_bytes END AS bytes
  FROM event
  WHERE action IN ('alloc', 'free_completed') AND ($run = '' OR run = $run) AND ($rank < 0 OR rank = $rank)),
live AS (
  SELECT run, rank, snapshot, snapshot_id, device, seq, CAST(SUM(bytes) OVER (PARTITION BY run, snapshot_id, device
    ORDER BY seq ASC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS bytes
  FROM change),
highest AS (
  SELECT run, rank, snapshot, snapshot_id, device, MAX(bytes) AS bytes, COUNT(*) AS entries
  FROM live
  GROUP BY run, rank, snapshot, snapshot_id, device),
reached AS (
  SELECT highest.run AS run, highest.snapshot_id AS snapshot_id, highest.device AS device, MIN(live.seq) AS seq
  FROM highest
  JOIN live ON live.run = highest.run AND live.snapshot_id = highest.snapshot_id AND live.device = highest.device
    AND live.bytes = highest.bytes
  GROUP BY highest.run, highest.snapshot_id, highest.device),
before_trace AS (
  SELECT run, snapshot_id, device, CAST(SUM(COALESCE(requested_bytes, excess_bytes)) AS DECIMAL(38, 0)) AS bytes
  FROM block_life
  WHERE from_seq = -1 AND ($run = '' OR run = $run) AND ($rank < 0 OR rank = $rank)
  GROUP BY run, snapshot_id, device)
SELECT highest.run AS run, highest.rank AS rank, highest.snapshot AS snapshot, highest.device AS device,
  COALESCE(before_trace.bytes, CAST(0 AS DECIMAL(38, 0))) AS before_bytes,
  CAST(COALESCE(before_trace.bytes, CAST(0 AS DECIMAL(38, 0)))
    + CASE WHEN highest.bytes > 0 THEN highest.bytes ELSE 0 END AS DECIMAL(38, 0)) AS peak_requested_bytes,
  CASE WHEN highest.bytes > 0 THEN reached.seq ELSE -1 END AS peak_seq, highest.entries AS entries
FROM highest
JOIN reached ON reached.run = highest.run AND reached.snapshot_id = highest.snapshot_id AND reached.device = highest.device
LEFT JOIN before_trace ON before_trace.run = highest.run AND before_trace.snapshot_id = highest.snapshot_id
  AND before_trace.device = highest.device
ORDER BY run ASC NULLS LAST, rank ASC NULLS LAST, snapshot ASC NULLS LAST, device ASC NULLS LAST, peak_seq ASC NULLS LAST
