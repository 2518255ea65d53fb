-- @name    lake.causes
-- @title   Causes of failures by week
-- @param   since_us BIGINT   runs that started at this time or later, µs since 1970; 0: all
-- @default since_us 0
-- @col     week_us BIGINT?       Monday 00:00 of the week in which the runs started, µs since 1970; NULL: unknown
-- @col     cause VARCHAR         as in verdict; not_oom: no device ran out of memory
-- @col     detail VARCHAR?       refinement of the cause
-- @col     runs BIGINT           runs whose first verdict it is
-- @col     failed_ranks BIGINT   ranks of these runs with a failure of any cause
-- @col     first_run VARCHAR     the earliest of these runs
-- @col     last_run VARCHAR      the latest
-- @why     A run counts once, by its first failure: the others mostly follow from it.
WITH answer AS (
  SELECT run, cause, detail, ROW_NUMBER() OVER (PARTITION BY run
    ORDER BY CASE WHEN failure IS NULL THEN 1 ELSE 0 END ASC NULLS LAST, number % 16384 ASC NULLS LAST, number ASC NULLS LAST) AS place
  FROM verdict),
failed AS (
  SELECT run, COUNT(DISTINCT rank) AS ranks FROM verdict WHERE failure IS NOT NULL GROUP BY run),
started AS (
  SELECT run, MIN(started_us) AS started_us FROM run_summary GROUP BY run),
judged AS (
  SELECT answer.run AS run, answer.cause AS cause, answer.detail AS detail, COALESCE(failed.ranks, 0) AS ranks,
    started.started_us AS started_us,
    started.started_us - (started.started_us + 259200000000) % 604800000000 AS week_us
  FROM answer
  JOIN started ON started.run = answer.run
  LEFT JOIN failed ON failed.run = answer.run
  WHERE answer.place = 1 AND ($since_us = 0 OR started.started_us >= $since_us)),
ordered AS (
  SELECT run, cause, detail, ranks, week_us,
    ROW_NUMBER() OVER (PARTITION BY week_us, cause, detail ORDER BY started_us ASC NULLS LAST, run ASC NULLS LAST) AS first_place,
    ROW_NUMBER() OVER (PARTITION BY week_us, cause, detail ORDER BY started_us DESC NULLS LAST, run DESC NULLS LAST) AS last_place
  FROM judged)
SELECT week_us, cause, detail, COUNT(*) AS runs, CAST(SUM(ranks) AS BIGINT) AS failed_ranks,
  MAX(CASE WHEN first_place = 1 THEN run END) AS first_run, MAX(CASE WHEN last_place = 1 THEN run END) AS last_run
FROM ordered
GROUP BY week_us, cause, detail
ORDER BY week_us ASC NULLS LAST, runs DESC NULLS LAST, cause ASC NULLS LAST, detail ASC NULLS LAST
