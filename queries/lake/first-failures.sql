-- @name    lake.first_failures
-- @title   Ranks and hosts that are the first to fail, in several runs
-- @param   runs BIGINT   in at least so many runs
-- @default runs 2
-- @param   kind VARCHAR  kind of the failure, such as cuda_oom; empty: all
-- @default kind
-- @col     what VARCHAR         host or rank
-- @col     name VARCHAR         the host, or the global rank
-- @col     runs BIGINT          runs in which it was the first
-- @col     kinds BIGINT         different kinds of these failures
-- @col     first_kind VARCHAR   the first of these kinds in the alphabet
-- @col     first_us BIGINT?     the earliest of these failures, µs since 1970 by the clock of the file
-- @col     last_us BIGINT?      the latest
-- @why     A host that is the first again and again is broken or used by others; a rank is one with more to hold. Each block of a run has
--          the failure that was first in its files; the earliest of these counts.
WITH seen AS (
  SELECT run, first_failed_rank, first_failed_host, first_failed_kind, first_failed_us,
    ROW_NUMBER() OVER (PARTITION BY run ORDER BY first_failed_us ASC NULLS LAST, task ASC NULLS LAST) AS place
  FROM run_summary
  WHERE first_failed_kind IS NOT NULL),
named AS (
  SELECT 'host' AS what, first_failed_host AS name, first_failed_kind AS kind, first_failed_us AS failed_us FROM seen WHERE place = 1
  UNION ALL
  SELECT 'rank' AS what, CAST(first_failed_rank AS STRING) AS name, first_failed_kind AS kind, first_failed_us AS failed_us
  FROM seen WHERE place = 1)
SELECT what, name, COUNT(*) AS runs, COUNT(DISTINCT kind) AS kinds, MIN(kind) AS first_kind, MIN(failed_us) AS first_us,
  MAX(failed_us) AS last_us
FROM named
WHERE name IS NOT NULL AND ($kind = '' OR kind = $kind)
GROUP BY what, name
HAVING COUNT(*) >= $runs
ORDER BY runs DESC NULLS LAST, what ASC NULLS LAST, name ASC NULLS LAST
