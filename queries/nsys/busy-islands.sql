-- @name   nsys.busy_islands
-- @title  Times in which a device was computing, communicating or copying, overlaps joined
-- @param  source_id INTEGER
-- @uses   _nsys.gpu_work
-- @col    pid      INTEGER  -1: not known
-- @col    device   INTEGER  -1: not known
-- @col    class    INTEGER  0 compute, 1 communication, 2 copy
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT
-- @why    Streams run side by side: their times must be joined and never added.
WITH marked AS (
  SELECT pid, device, class, start_ns, end_ns,
    start_ns > max(end_ns) OVER (PARTITION BY pid, device, class
      ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS begins
  FROM gpu_work),
numbered AS (
  SELECT *, sum(CASE WHEN begins THEN 1 ELSE 0 END) OVER (PARTITION BY pid, device, class
    ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING) AS island FROM marked)
SELECT coalesce(pid, -1) AS pid, coalesce(device, -1) AS device, CASE class WHEN 'compute' THEN 0 WHEN 'communication' THEN 1
  ELSE 2 END AS class, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM numbered GROUP BY numbered.pid, numbered.device, numbered.class, island
ORDER BY pid, device, start_ns, class
