-- @name   measure.run_peak
-- @title  The fullest rank of a launch by its largest printed figure: of the reserve, else of what was allocated
-- @param  run_ids  VARCHAR
-- @param  ranks    VARCHAR?
-- @param  attempts VARCHAR?
-- @param  total_bytes BIGINT?  of the device
-- @uses   log.memory_ranks
-- @col    of              VARCHAR  reserved or allocated
-- @col    bytes           BIGINT
-- @col    rank            INTEGER?
-- @col    allocated_bytes BIGINT?  of the same rank, where the peak is of the reserve
-- @col    ranks           BIGINT   how many print the figure
-- @col    least_bytes     BIGINT   the least of their largest figures
-- @col    total_bytes     BIGINT?  NULL for a smaller one than the figure: it is of another device
-- @col    share           DOUBLE?  of the device: of its total where that is known, else as the lines print it
-- @col    share_by        VARCHAR? total or printed
-- @col    headroom_bytes  BIGINT?  memory outside PyTorch is part of it
-- @needs  log_memory
-- @why    torchtitan prints `116.41GiB(83.32%)` and, in many logs, no total of the device: the largest share is of the reserve.
WITH of_rank AS (
  SELECT rank, row_number() OVER (ORDER BY rank NULLS FIRST, device NULLS FIRST) AS place,
    max(max_bytes) FILTER (metric IN ('max_reserved', 'reserved')) AS reserved,
    max(max_bytes) FILTER (metric IN ('max_allocated', 'max_active', 'allocated', 'active')) AS allocated
  FROM memory_ranks
  GROUP BY rank, device),
peak AS (
  SELECT 'reserved' AS of, arg_max(of_rank, {bytes: reserved, first: -place}) AS fullest, max(reserved) AS bytes, count(*) AS ranks,
    min(reserved) AS least_bytes
  FROM of_rank WHERE reserved > 0
  UNION ALL
  SELECT 'allocated', arg_max(of_rank, {bytes: allocated, first: -place}), max(allocated), count(*), min(allocated)
  FROM of_rank WHERE allocated > 0),
printed AS (
  SELECT max(log.value) / 100 AS share
  FROM log_figure AS log
  JOIN source USING (source_id)
  JOIN text_value AS name ON name.text_id = log.name_id
  WHERE source.run_id = $run_ids::INTEGER AND source.attempt + log.attempt - 1 = $attempts::INTEGER
    AND name.text = 'iteration.memory_percent' AND log.value > 0 AND log.value <= 100)
SELECT of, bytes, fullest.rank AS rank, CASE of WHEN 'reserved' THEN fullest.allocated END AS allocated_bytes, ranks, least_bytes,
  CASE WHEN $total_bytes >= bytes THEN $total_bytes END AS total_bytes,
  CASE WHEN $total_bytes >= bytes THEN bytes / $total_bytes WHEN of = 'reserved' THEN printed.share END AS share,
  CASE WHEN $total_bytes >= bytes THEN 'total' WHEN of = 'reserved' AND printed.share IS NOT NULL THEN 'printed' END AS share_by,
  CASE WHEN $total_bytes >= bytes THEN $total_bytes - bytes WHEN of = 'reserved' THEN round(bytes / printed.share - bytes)::BIGINT END
    AS headroom_bytes
FROM peak CROSS JOIN printed
WHERE bytes IS NOT NULL
ORDER BY of DESC
LIMIT 1
