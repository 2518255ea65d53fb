-- @name   nsys.failed_calls
-- @title  CUDA calls that returned an error
-- @param  source_id INTEGER
-- @col    api          VARCHAR
-- @col    return_value INTEGER
-- @col    pid          INTEGER?
-- @col    count        BIGINT
-- @col    first_ns     BIGINT
-- @col    last_ns      BIGINT
-- @why    2 is out of memory in both interfaces (cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY): a failed allocation is seen even
--         where memory events were not captured. 600 is not a failure: a query found unfinished work.
SELECT coalesce(api, '?') AS api, return_value, pid, count(*) AS count, min(start_ns) AS first_ns, max(start_ns) AS last_ns
FROM nsys_call
WHERE source_id = $source_id AND return_value IS NOT NULL AND return_value NOT IN (0, 600)
GROUP BY 1, 2, 3
ORDER BY return_value <> 2, first_ns, api
