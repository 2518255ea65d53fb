-- @name   symptom.launch_gaps
-- @title  Times in which a device was idle because its next work had not been launched yet
-- @param  source_id INTEGER
-- @param  from_ns BIGINT
-- @param  to_ns   BIGINT
-- @param  most_ns BIGINT  longer gaps are something else than launching: input, checkpoints
-- @col    pid     INTEGER  -1: not known
-- @col    device  INTEGER  -1: not known
-- @col    gaps    BIGINT   so many gaps whose next work was launched after the gap had begun
-- @col    gap_ns  BIGINT   their sum
-- @col    idle_ns BIGINT   all gaps, of whatever length and reason
-- @why    Idle time alone may be a bubble of the pipeline; idle time that ends with a launch is the host's. Work without a call of its own
--         counts as launched in time.
WITH calls AS (
  SELECT pid, correlation, min(start_ns) AS call_ns FROM nsys_api WHERE source_id = $source_id AND correlation > 0 GROUP BY ALL),
work AS (
  SELECT pid, device, correlation, start_ns, end_ns FROM nsys_kernel WHERE source_id = $source_id
  UNION ALL SELECT pid, device, correlation, start_ns, end_ns FROM nsys_copy WHERE source_id = $source_id
  UNION ALL SELECT pid, device, correlation, start_ns, end_ns FROM nsys_graph WHERE source_id = $source_id),
ordered AS (
  SELECT *, max(end_ns) OVER (PARTITION BY pid, device
    ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns FROM work),
gaps AS (
  SELECT ordered.pid, ordered.device, start_ns - greatest(free_ns, $from_ns) AS length_ns,
    coalesce(calls.call_ns >= free_ns, false) AS is_late
  FROM ordered LEFT JOIN calls ON calls.pid = ordered.pid AND calls.correlation = ordered.correlation
  WHERE start_ns > free_ns AND start_ns > $from_ns AND start_ns < $to_ns)
SELECT coalesce(pid, -1) AS pid, coalesce(device, -1) AS device, count(*) FILTER (is_late AND length_ns <= $most_ns) AS gaps,
  coalesce(sum(length_ns) FILTER (is_late AND length_ns <= $most_ns), 0)::BIGINT AS gap_ns, sum(length_ns)::BIGINT AS idle_ns
FROM gaps GROUP BY ALL ORDER BY pid, device
