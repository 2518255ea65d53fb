-- @name   nsys.device_memory
-- @title  Memory that the driver gave, by process, device and kind: the most at once, and at the end
-- @param  source_id INTEGER
-- @uses   _nsys.memory_steps
-- @uses   _nsys.memory_before
-- @col    pid         INTEGER?
-- @col    device      INTEGER?
-- @col    kind        VARCHAR
-- @col    peak_bytes  BIGINT
-- @col    peak_ns     BIGINT
-- @col    end_bytes   BIGINT
-- @col    before_bytes BIGINT  freed without having been allocated in the capture: held since before, at least
-- @col    allocations BIGINT
-- @col    frees       BIGINT
-- @why    What was freed without an allocation was held when the capture began. It is added to the start, so that the curve cannot go below
--         zero; what was neither allocated nor freed in the capture is not in it.
WITH first AS (SELECT pid, device, kind, min(time_ns) AS time_ns FROM memory_steps GROUP BY pid, device, kind),
curve AS (
  SELECT pid, device, kind, time_ns, rising, bytes, fate,
    sum(bytes) OVER (PARTITION BY pid, device, kind ORDER BY time_ns, rising, seq ROWS UNBOUNDED PRECEDING) AS total
  FROM memory_steps)
SELECT
  curve.pid, curve.device, curve.kind::VARCHAR AS kind,
  (coalesce(any_value(start.bytes), 0) + greatest(0, max(total)))::BIGINT AS peak_bytes,
  CASE WHEN max(total) > 0 THEN arg_max(curve.time_ns, total) ELSE any_value(first.time_ns) END AS peak_ns,
  (coalesce(any_value(start.bytes), 0) + sum(curve.bytes))::BIGINT AS end_bytes,
  coalesce(any_value(start.bytes), 0)::BIGINT AS before_bytes,
  count(*) FILTER (rising = 1) AS allocations, count(*) FILTER (fate = 'freed') AS frees
FROM curve
LEFT JOIN memory_before AS start ON start.pid IS NOT DISTINCT FROM curve.pid AND start.device IS NOT DISTINCT FROM curve.device
  AND start.kind = curve.kind
LEFT JOIN first ON first.pid IS NOT DISTINCT FROM curve.pid AND first.device IS NOT DISTINCT FROM curve.device AND first.kind = curve.kind
GROUP BY curve.pid, curve.device, curve.kind
ORDER BY curve.pid, curve.device, curve.kind
