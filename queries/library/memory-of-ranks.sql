-- @name   library.memory_of_ranks
-- @kind   macro
-- @title  Memory lines of the newest attempt that printed any, by rank: the first line's peak, and the largest of all
-- @param  run_key INTEGER  run_id
-- @col    rank                 INTEGER?
-- @col    first_iteration      BIGINT?  of the first memory line
-- @col    last_iteration       BIGINT?
-- @col    first_peak_allocated_bytes BIGINT?  max_allocated (max_active where that is not printed) of the first line
-- @col    peak_allocated_bytes BIGINT?  of all lines
-- @col    first_allocated_bytes BIGINT? of the first line
-- @col    allocated_bytes      BIGINT?  of the last line
-- @col    peak_reserved_bytes  BIGINT?
-- @col    alloc_retries        DOUBLE?
-- @col    precision_bytes      DOUBLE   the coarsest of the figures used
-- @why    The first line of a launch is printed before Adam's states meet a full set of activations, so first and later peaks are two
--         figures. The peak of one launch does not apply to the next.
WITH figures AS (
  SELECT source.attempt + log.attempt AS attempt, coalesce(log.rank, source.rank) AS rank, metric.text AS metric, log.iteration, log.bytes,
    log.value, log.precision_bytes, log.rowid AS place
  FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS metric ON metric.text_id = log.metric_id
  WHERE source.run_id = run_key AND metric.text IN ('max_allocated', 'max_active', 'allocated', 'active', 'max_reserved', 'reserved',
    'alloc_retries')),
newest AS (SELECT * FROM figures WHERE attempt = (SELECT max(attempt) FROM figures))
SELECT rank, min(iteration) AS first_iteration, max(iteration) AS last_iteration,
  coalesce(arg_min(bytes, struct_pack(i := coalesce(iteration, -1), p := place)) FILTER (metric = 'max_allocated'),
    arg_min(bytes, struct_pack(i := coalesce(iteration, -1), p := place)) FILTER (metric = 'max_active')) AS first_peak_allocated_bytes,
  coalesce(max(bytes) FILTER (metric = 'max_allocated'), max(bytes) FILTER (metric = 'max_active')) AS peak_allocated_bytes,
  coalesce(arg_min(bytes, struct_pack(i := coalesce(iteration, -1), p := place)) FILTER (metric = 'allocated'),
    arg_min(bytes, struct_pack(i := coalesce(iteration, -1), p := place)) FILTER (metric = 'active')) AS first_allocated_bytes,
  coalesce(arg_max(bytes, place) FILTER (metric = 'allocated'), arg_max(bytes, place) FILTER (metric = 'active')) AS allocated_bytes,
  coalesce(max(bytes) FILTER (metric = 'max_reserved'), max(bytes) FILTER (metric = 'reserved')) AS peak_reserved_bytes,
  max(value) FILTER (metric = 'alloc_retries') AS alloc_retries,
  coalesce(max(precision_bytes) FILTER (metric IN ('max_allocated', 'max_active', 'allocated', 'active')), 0) AS precision_bytes
FROM newest
GROUP BY rank
