-- @name    lake.difference
-- @title   Peaks of two runs by component
-- @param   before VARCHAR  a run; empty: the last but one that has snapshots
-- @default before
-- @param   after VARCHAR   a run; empty: the last that has snapshots
-- @default after
-- @col     before_run VARCHAR           the first run
-- @col     after_run VARCHAR            the second run
-- @col     component VARCHAR            what the memory holds
-- @col     before_bytes DECIMAL(38,0)   the most of any rank of the first run, at the peak of its device
-- @col     after_bytes DECIMAL(38,0)    the same of the second run
-- @col     delta_bytes DECIMAL(38,0)    second less first
-- @col     before_ranks BIGINT          ranks of the first run that have it
-- @col     after_ranks BIGINT           ranks of the second run that have it
-- @why     Call sites differ where code moved; components stay comparable. A component that only one run has is 0 in the other.
WITH part AS (
  SELECT run, rank, snapshot_id, device, COALESCE(component, 'unattributed') AS component, CAST(SUM(bytes) AS DECIMAL(38, 0)) AS bytes
  FROM peak_component
  GROUP BY run, rank, snapshot_id, device, COALESCE(component, 'unattributed')),
most AS (
  SELECT run, component, MAX(bytes) AS bytes, COUNT(DISTINCT rank) AS ranks FROM part GROUP BY run, component),
started AS (
  SELECT run, MIN(started_us) AS started_us FROM run_summary GROUP BY run),
known AS (
  SELECT most.run AS run, MIN(started.started_us) AS started_us
  FROM most
  JOIN started ON started.run = most.run
  GROUP BY most.run),
latest AS (
  SELECT run, ROW_NUMBER() OVER (ORDER BY started_us DESC NULLS LAST, run DESC NULLS LAST) AS place FROM known),
chosen AS (
  SELECT MAX(CASE WHEN run = $before OR ($before = '' AND place = 2) THEN run END) AS before_run,
    MAX(CASE WHEN run = $after OR ($after = '' AND place = 1) THEN run END) AS after_run
  FROM latest),
side AS (
  SELECT chosen.before_run AS before_run, chosen.after_run AS after_run, most.component AS component, most.bytes AS before_bytes,
    CAST(0 AS DECIMAL(38, 0)) AS after_bytes, most.ranks AS before_ranks, CAST(0 AS BIGINT) AS after_ranks
  FROM chosen
  JOIN most ON most.run = chosen.before_run
  UNION ALL
  SELECT chosen.before_run AS before_run, chosen.after_run AS after_run, most.component AS component,
    CAST(0 AS DECIMAL(38, 0)) AS before_bytes, most.bytes AS after_bytes, CAST(0 AS BIGINT) AS before_ranks, most.ranks AS after_ranks
  FROM chosen
  JOIN most ON most.run = chosen.after_run),
compared AS (
  SELECT before_run, after_run, component, MAX(before_bytes) AS before_bytes, MAX(after_bytes) AS after_bytes,
    MAX(before_ranks) AS before_ranks, MAX(after_ranks) AS after_ranks
  FROM side
  WHERE before_run IS NOT NULL AND after_run IS NOT NULL
  GROUP BY before_run, after_run, component)
SELECT before_run, after_run, component, before_bytes, after_bytes, CAST(after_bytes - before_bytes AS DECIMAL(38, 0)) AS delta_bytes,
  before_ranks, after_ranks
FROM compared
ORDER BY ABS(after_bytes - before_bytes) DESC NULLS LAST, component ASC NULLS LAST
