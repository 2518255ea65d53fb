-- @name    lake.missing
-- @title   What is missing: ranks, snapshots, traces, blocks and files
-- @param   run VARCHAR   one run; empty: all
-- @default run
-- @col     run VARCHAR       the run
-- @col     what VARCHAR      rank: nothing of it was read; snapshot: no snapshot of it; trace: its snapshots have none; block: not in the
--          lake; unfinished: a block without its last file; file: could not be read; world_size: how many ranks there are is unknown
-- @col     first BIGINT?     first rank or block of those that are missing in a row
-- @col     last BIGINT?      last of these
-- @col     number BIGINT?    how many are missing
-- @why     An answer about a run is one about what was read of it. Missing ranks are ranges, as ten thousand rows would not be read.
WITH whole AS (
  SELECT run, task, MAX(world_size) AS ranks, MAX(blocks) AS blocks, 1 AS is_whole
  FROM run_summary
  WHERE $run = '' OR run = $run
  GROUP BY run, task),
known AS (
  SELECT run, CAST(rank AS BIGINT) AS rank, snapshots, traces FROM rank_summary WHERE rank IS NOT NULL AND ($run = '' OR run = $run)),
file AS (
  SELECT run, task, CAST(rank AS BIGINT) AS rank, status FROM source WHERE $run = '' OR run = $run),
size AS (
  SELECT run, MAX(ranks) AS ranks, MAX(blocks) AS blocks FROM whole GROUP BY run),
item AS (
  SELECT run, 'rank' AS what, rank AS item FROM known
  UNION ALL
  SELECT run, 'rank' AS what, rank AS item FROM file WHERE rank IS NOT NULL AND status = 'ingested'
  UNION ALL
  SELECT run, 'snapshot' AS what, rank AS item FROM known WHERE snapshots > 0
  UNION ALL
  SELECT run, 'block' AS what, CAST(task AS BIGINT) AS item FROM whole
  UNION ALL
  SELECT run, 'rank' AS what, CAST(-1 AS BIGINT) AS item FROM size WHERE ranks IS NOT NULL
  UNION ALL
  SELECT run, 'rank' AS what, ranks AS item FROM size WHERE ranks IS NOT NULL
  UNION ALL
  SELECT run, 'snapshot' AS what, CAST(-1 AS BIGINT) AS item FROM size WHERE ranks IS NOT NULL
  UNION ALL
  SELECT run, 'snapshot' AS what, ranks AS item FROM size WHERE ranks IS NOT NULL
  UNION ALL
  SELECT run, 'block' AS what, CAST(-1 AS BIGINT) AS item FROM size
  UNION ALL
  SELECT run, 'block' AS what, CAST(blocks AS BIGINT) AS item FROM size),
once AS (
  SELECT run, what, item FROM item GROUP BY run, what, item),
gap AS (
  SELECT run, what, item, LEAD(item) OVER (PARTITION BY run, what ORDER BY item ASC NULLS LAST) AS next FROM once),
written AS (
  SELECT run, task, COUNT(*) AS files FROM file GROUP BY run, task),
unfinished AS (
  SELECT written.run AS run, CAST(written.task AS BIGINT) AS item
  FROM written
  LEFT JOIN whole ON whole.run = written.run AND whole.task = written.task
  WHERE whole.is_whole IS NULL),
untraced AS (
  SELECT run, rank AS item FROM known WHERE snapshots > 0 AND traces = 0),
absent AS (
  SELECT run, what, item + 1 AS first, next - 1 AS last, next - item - 1 AS number
  FROM gap
  WHERE next - item > 1
  UNION ALL
  SELECT run, 'unfinished' AS what, MIN(item) AS first, MAX(item) AS last, COUNT(*) AS number FROM unfinished GROUP BY run
  UNION ALL
  SELECT run, 'trace' AS what, MIN(item) AS first, MAX(item) AS last, COUNT(*) AS number FROM untraced GROUP BY run
  UNION ALL
  SELECT run, 'file' AS what, CAST(NULL AS BIGINT) AS first, CAST(NULL AS BIGINT) AS last, COUNT(*) AS number
  FROM file
  WHERE status = 'failed'
  GROUP BY run
  UNION ALL
  SELECT run, 'world_size' AS what, CAST(NULL AS BIGINT) AS first, CAST(NULL AS BIGINT) AS last, CAST(NULL AS BIGINT) AS number
  FROM size
  WHERE ranks IS NULL)
SELECT run, what, first, last, number
FROM absent
ORDER BY run ASC NULLS LAST, what ASC NULLS LAST, first ASC NULLS LAST, last ASC NULLS LAST
