-- @name   verdict.rank_stages
-- @title  How far the peaks of the ranks of a run differ, by pipeline stage
-- @param  run_id     INTEGER
-- @param  attempt    INTEGER  whose memory lines count
-- @param  world_size INTEGER?  NULL: the layout of the ranks is not known
-- @param  stride     INTEGER?  ranks from a stage to the next
-- @param  stages     INTEGER?
-- @uses   _verdict.rank_devices
-- @col    pp              INTEGER?  stage; NULL: of ranks without a known position
-- @col    ranks           INTEGER[]
-- @col    allocated_ranks BIGINT   with such a figure
-- @col    allocated_least BIGINT?
-- @col    allocated_median BIGINT?
-- @col    allocated_most  BIGINT?
-- @col    allocated_most_rank INTEGER?
-- @col    reserved_ranks  BIGINT   with such a figure
-- @col    reserved_least  BIGINT?
-- @col    reserved_median BIGINT?
-- @col    reserved_most   BIGINT?
-- @col    reserved_most_rank INTEGER?
-- @why    Of a rank the largest figure of its lines, its dumps and its traces, whichever saw more. The median of an even number is the
--         larger of the two in the middle: it is some rank's figure.
WITH figures AS (
  SELECT coalesce(log.rank, source.rank) AS rank,
    CASE WHEN metric.text IN ('max_allocated', 'allocated') THEN log.bytes END AS allocated,
    CASE WHEN metric.text IN ('max_reserved', 'reserved') THEN log.bytes END AS reserved
  FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS metric ON metric.text_id = log.metric_id
  WHERE source.run_id = $run_id AND source.attempt + log.attempt - 1 = $attempt AND log.bytes IS NOT NULL
    AND metric.text IN ('max_allocated', 'allocated', 'max_reserved', 'reserved')
  UNION ALL
  SELECT snapshot.rank,
    greatest(device.active_bytes, CASE WHEN device.peak_reserved_bytes IS NOT NULL THEN device.peak_active_bytes END),
    greatest(device.reserved_bytes, CASE WHEN device.peak_active_bytes IS NOT NULL THEN device.peak_reserved_bytes END)
  FROM rank_devices AS device JOIN snapshot USING (snapshot_id)
  WHERE device.reserved_bytes > 0 OR device.peak_active_bytes IS NOT NULL),
peaks AS (
  SELECT rank, max(allocated) AS allocated, max(reserved) AS reserved,
    CASE WHEN rank BETWEEN 0 AND $world_size - 1 THEN rank // $stride % $stages END AS pp
  FROM figures
  WHERE rank IS NOT NULL
  GROUP BY rank)
SELECT pp::INTEGER AS pp, list(rank ORDER BY rank) AS ranks,
  count(allocated) AS allocated_ranks, min(allocated) AS allocated_least,
  list_sort(list(allocated) FILTER (allocated IS NOT NULL))[count(allocated) // 2 + 1] AS allocated_median,
  max(allocated) AS allocated_most, arg_max(rank, {bytes: allocated, first: -rank}) FILTER (allocated IS NOT NULL) AS allocated_most_rank,
  count(reserved) AS reserved_ranks, min(reserved) AS reserved_least,
  list_sort(list(reserved) FILTER (reserved IS NOT NULL))[count(reserved) // 2 + 1] AS reserved_median,
  max(reserved) AS reserved_most, arg_max(rank, {bytes: reserved, first: -rank}) FILTER (reserved IS NOT NULL) AS reserved_most_rank
FROM peaks
GROUP BY pp
ORDER BY pp NULLS FIRST
