-- @name    lake.peaks
-- @title   Peak of each rank by component
-- @param   run VARCHAR   one run; empty: all
-- @default run
-- @param   rank BIGINT   one rank; -1: all
-- @default rank -1
-- @col     run VARCHAR          the run
-- @col     rank INTEGER?        global rank
-- @col     device INTEGER       device of the rank
-- @col     component VARCHAR    what the memory holds
-- @col     live_bytes DECIMAL(38,0)    of it at the peak, actual sizes
-- @col     peak_active_bytes DECIMAL(38,0)  of the device at its peak, all components
-- @why     Where a rank has several snapshots, the one with the highest peak counts.
WITH part AS (
  SELECT run, rank, snapshot_id, device, COALESCE(component, 'unattributed') AS component,
    CAST(SUM(bytes) AS DECIMAL(38, 0)) AS live_bytes
  FROM peak_component
  WHERE ($run = '' OR run = $run) AND ($rank < 0 OR rank = $rank)
  GROUP BY run, rank, snapshot_id, device, COALESCE(component, 'unattributed')),
whole AS (
  SELECT run, rank, snapshot_id, device, CAST(SUM(live_bytes) AS DECIMAL(38, 0)) AS peak_active_bytes
  FROM part
  GROUP BY run, rank, snapshot_id, device),
fullest AS (
  SELECT run, rank, snapshot_id, device, peak_active_bytes,
    ROW_NUMBER() OVER (PARTITION BY run, rank, device ORDER BY peak_active_bytes DESC NULLS LAST, snapshot_id ASC NULLS LAST) AS place
  FROM whole)
SELECT fullest.run AS run, fullest.rank AS rank, fullest.device AS device, part.component AS component,
  part.live_bytes AS live_bytes, fullest.peak_active_bytes AS peak_active_bytes
FROM fullest
JOIN part ON part.run = fullest.run AND part.snapshot_id = fullest.snapshot_id AND part.device = fullest.device
WHERE fullest.place = 1
ORDER BY run ASC NULLS LAST, rank ASC NULLS LAST, device ASC NULLS LAST, live_bytes DESC NULLS LAST, component ASC NULLS LAST
