-- @name    lake.versions
-- @title   Peaks by code version, container, or any setting
-- @param   key VARCHAR   a setting, environment variable or version; empty: the commit and all versions
-- @default key
-- @col     key VARCHAR            commit, or as in run_setting, such as version.torch and version.container
-- @col     value VARCHAR          its value
-- @col     runs BIGINT            runs that have it
-- @col     failed_runs BIGINT     of these, with an out-of-memory failure
-- @col     peak_allocated_bytes BIGINT?        the most of any rank of these runs, by snapshots or logs
-- @col     least_peak_allocated_bytes BIGINT?  the least peak of a run
-- @col     peak_reserved_bytes BIGINT?         reserved at most, by logs
-- @col     last_started_us BIGINT?             start of the latest run, µs since 1970
-- @why     A peak that moved with a version shows where to look for the commit.
WITH peak AS (
  SELECT run, CASE WHEN MAX(COALESCE(peak_active_bytes, 0)) >= MAX(COALESCE(printed_peak_allocated_bytes, 0)) THEN MAX(peak_active_bytes)
      ELSE MAX(printed_peak_allocated_bytes) END AS allocated_bytes,
    MAX(printed_peak_reserved_bytes) AS reserved_bytes, MAX(started_us) AS started_us, MAX(commit_sha) AS commit_sha,
    MAX(CASE WHEN traced_ooms > 0 OR printed_ooms > 0 THEN 1 ELSE 0 END) AS has_failed
  FROM run_summary
  GROUP BY run),
version AS (
  SELECT run, 'commit' AS key, commit_sha AS value FROM peak WHERE commit_sha IS NOT NULL AND ($key = '' OR $key = 'commit')
  UNION ALL
  SELECT run, key, value FROM run_setting
  WHERE value IS NOT NULL AND (key = $key OR ($key = '' AND (kind = 'version' OR key LIKE '%VERSION' OR key = 'GIT_COMMIT'
    OR key = 'GIT_SHA' OR key = 'CI_COMMIT_SHA')))
  GROUP BY run, key, value)
SELECT version.key AS key, version.value AS value, COUNT(*) AS runs, COUNT(CASE WHEN peak.has_failed = 1 THEN 1 END) AS failed_runs,
  MAX(peak.allocated_bytes) AS peak_allocated_bytes, MIN(peak.allocated_bytes) AS least_peak_allocated_bytes,
  MAX(peak.reserved_bytes) AS peak_reserved_bytes, MAX(peak.started_us) AS last_started_us
FROM version
JOIN peak ON peak.run = version.run
GROUP BY version.key, version.value
ORDER BY key ASC NULLS LAST, last_started_us DESC NULLS LAST, value ASC NULLS LAST
