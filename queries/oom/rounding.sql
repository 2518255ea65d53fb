-- @name   oom.rounding
-- @title  What live blocks have beyond their requests at an OOM because of max_split_size_mb and roundup_power2_divisions
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  seq    INTEGER  of the OOM entry
-- @of     oom_rounding
-- @why    Rows of oom_rounding, derived while ingesting where one of the two is set. Blocks of at least max_split_size are handed out
--         whole. Sizes from 1, 2, 4, … 32768 MiB on have a number of divisions each (torch's round_size); others are rounded to 512.
WITH setting AS (
  SELECT coalesce(max_split_bytes, 9223372036854775807) AS max_split, roundup_divisions AS list
  FROM derived_history WHERE snapshot_id = $snapshot_id AND device = $device),
live AS (
  SELECT block.actual_bytes, block.requested_bytes AS requested, setting.max_split,
    CASE WHEN setting.list IS NOT NULL AND block.requested_bytes >= 512
      THEN string_split(setting.list, ',')[greatest(0, least(15, floor(log2(block.requested_bytes / 1048576))))::INTEGER + 1]::DOUBLE
    END AS divisions
  FROM live_at($snapshot_id, $device, $seq - 1) AS block CROSS JOIN setting
  WHERE block.requested_bytes > 0),
step AS (
  SELECT *, CASE WHEN divisions > 1 AND requested > 512 * divisions THEN (1::BIGINT << (length(bin(requested)) - 1)) / divisions END AS unit
  FROM live),
rounded AS (
  SELECT *, (requested + 511) // 512 * 512 AS plain,
    CASE WHEN unit IS NULL THEN (requested + 511) // 512 * 512 ELSE (ceil(requested / unit) * unit)::BIGINT END AS size
  FROM step)
SELECT
  $snapshot_id AS snapshot_id, $device AS device, $seq AS seq,
  coalesce(sum(greatest(0, actual_bytes - size)) FILTER (actual_bytes >= max_split), 0)::BIGINT AS oversize_slack_bytes,
  CASE WHEN (SELECT list FROM setting) IS NOT NULL THEN coalesce(sum(greatest(0, size - plain)), 0)::BIGINT END AS power2_rounding_bytes
FROM rounded
LIMIT 1
