-- @name   nsys.free_storms
-- @title  Bursts of calls that give memory back: the allocator empties its cache
-- @param  source_id INTEGER
-- @param  gap_ns BIGINT    calls of one thread with a longer gap are two bursts
-- @param  least_calls BIGINT
-- @col    pid      INTEGER?
-- @col    tid      INTEGER?
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT
-- @col    calls    BIGINT
-- @col    busy_ns  BIGINT
-- @col    is_retry BOOLEAN  a call for memory failed on this thread just before: the allocator retried
-- @why    cudaFree and cuMemUnmap wait for the device, so that a flush of the cache costs a stall and then the allocations anew.
WITH calls AS (
  SELECT pid, tid, api, start_ns, end_ns, return_value,
    regexp_matches(api, '^(cudaFree$|cuMemFree|cuMemUnmap|cuMemRelease)') AS gives, return_value = 2 AS is_failed
  FROM nsys_call
  WHERE source_id = $source_id AND regexp_matches(api, '^(cudaMalloc|cudaFree$|cuMemAlloc|cuMemFree|cuMemCreate|cuMemUnmap|cuMemRelease)')),
marked AS (
  SELECT *, max(CASE WHEN is_failed THEN start_ns END) OVER thread AS last_failed_ns,
    start_ns - lag(end_ns) OVER thread AS gap, lag(gives) OVER thread AS gave
  FROM calls WINDOW thread AS (PARTITION BY pid, tid ORDER BY start_ns)),
frees AS (
  SELECT *, sum(CASE WHEN gave AND gap <= $gap_ns THEN 0 ELSE 1 END) OVER (PARTITION BY pid, tid ORDER BY start_ns) AS storm FROM marked
    WHERE gives)
SELECT pid, tid, min(start_ns) AS start_ns, max(end_ns) AS end_ns, count(*) AS calls, sum(end_ns - start_ns)::BIGINT AS busy_ns,
  coalesce(min(start_ns) - max(last_failed_ns) FILTER (last_failed_ns <= start_ns) <= 1000000000, false) AS is_retry
FROM frees
GROUP BY pid, tid, storm
HAVING count(*) >= $least_calls
ORDER BY start_ns
