-- @name   picture.iteration_memory
-- @title  Memory that a rank printed for its iterations, in their order
-- @param  run_id INTEGER
-- @param  attempt INTEGER
-- @param  rank INTEGER?
-- @col    iteration            BIGINT
-- @col    allocated_bytes      BIGINT?
-- @col    peak_allocated_bytes BIGINT?
-- @col    peak_reserved_bytes  BIGINT?
-- @why    Without a snapshot, memory over time is known from these lines alone.
SELECT
  iteration, max(bytes) FILTER (metric = 'allocated') AS allocated_bytes,
  max(bytes) FILTER (metric = 'max_allocated') AS peak_allocated_bytes, max(bytes) FILTER (metric = 'max_reserved') AS peak_reserved_bytes
FROM memory_sample
WHERE run_id = $run_id AND attempt = $attempt AND rank IS NOT DISTINCT FROM $rank AND iteration IS NOT NULL
GROUP BY iteration
ORDER BY iteration
