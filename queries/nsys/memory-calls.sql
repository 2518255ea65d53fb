-- @name   nsys.memory_calls
-- @title  Calls that take memory from the driver and give it back, and the time they cost
-- @param  source_id INTEGER
-- @param  from_ns BIGINT?  window in which calls are also counted
-- @param  to_ns BIGINT?
-- @col    api        VARCHAR
-- @col    pid        INTEGER?
-- @col    count      BIGINT
-- @col    failed     BIGINT
-- @col    busy_ns    BIGINT   union of the calls' times over the threads of the process
-- @col    longest_ns BIGINT
-- @col    in_window  BIGINT   calls that begin in the window
-- @why    A caching allocator calls the driver while it grows and then hardly ever: calls that go on mean that it is thrashing, and each
--         free waits for the device. Times are joined before they are added: threads wait side by side.
WITH calls AS (
  SELECT pid, api, start_ns, end_ns, return_value,
    max(end_ns) OVER (PARTITION BY pid, api ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_end
  FROM nsys_call
  WHERE source_id = $source_id
    AND regexp_matches(api,
      '^(cudaMalloc|cudaFree|cudaHostAlloc|cudaHostRegister|cudaHostUnregister|cudaMemPool|cuMemAlloc|cuMemFree|cuMemHostAlloc'
      || '|cuMemCreate|cuMemRelease|cuMemMap|cuMemUnmap|cuMemSetAccess|cuMemAddressReserve|cuMemAddressFree|cuMemPool)'))
SELECT api, pid, count(*) AS count, count(*) FILTER (return_value NOT IN (0, 600)) AS failed,
  sum(greatest(0, end_ns - greatest(start_ns, coalesce(before_end, start_ns))))::BIGINT AS busy_ns,
  max(end_ns - start_ns)::BIGINT AS longest_ns, count(*) FILTER (start_ns >= $from_ns AND start_ns < $to_ns) AS in_window
FROM calls GROUP BY api, pid ORDER BY busy_ns DESC, api, pid
