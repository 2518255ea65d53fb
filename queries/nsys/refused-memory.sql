-- @name   nsys.refused_memory
-- @title  Processes to which the driver refused device memory, and how that ended
-- @param  source_id INTEGER
-- @col    pid        INTEGER?
-- @col    refusals   BIGINT
-- @col    first_ns   BIGINT
-- @col    last_ns    BIGINT
-- @col    api        VARCHAR  of the last refusal
-- @col    served_after BIGINT calls for device memory that succeeded after the last refusal
-- @why    The allocator empties its cache after a refusal and asks again. If memory was given after the last one, the process went on; if
--         none was, it is how it ended, as far as the capture goes.
WITH calls AS (
  SELECT pid, api, start_ns, return_value FROM nsys_call
  WHERE source_id = $source_id AND regexp_matches(api, '^(cudaMalloc($|Async|3D|Pitch|Array|FromPool)|cuMemAlloc|cuMemCreate)')),
refused AS (
  SELECT pid, count(*) AS refusals, min(start_ns) AS first_ns, max(start_ns) AS last_ns, arg_max(api, start_ns) AS api FROM calls
    WHERE return_value = 2 GROUP BY pid)
SELECT refused.pid, refused.refusals, refused.first_ns, refused.last_ns, refused.api,
  (SELECT count(*) FROM calls WHERE calls.pid IS NOT DISTINCT FROM refused.pid AND calls.start_ns > refused.last_ns
    AND calls.return_value = 0) AS served_after
FROM refused ORDER BY refused.last_ns, refused.pid
