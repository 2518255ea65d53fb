-- @name   symptom.waiting_kernels
-- @title  Kernels that could have begun while another kind ran, and those that began only when it was over
-- @param  source_id INTEGER
-- @param  waiting VARCHAR   regular expression of names: the kernels looked at
-- @param  running VARCHAR   and of those they may have to wait for
-- @param  from_ns BIGINT
-- @param  to_ns   BIGINT
-- @param  slack_ns BIGINT   so soon after the other's end is `only when it was over`
-- @col    pid       INTEGER  -1: not known
-- @col    device    INTEGER  -1: not known
-- @col    met       BIGINT   were launched, with their stream free, while one of the others ran on another stream
-- @col    waited    BIGINT   of these, began only at its end
-- @col    waited_ns BIGINT   sum of their waits
-- @why    A kernel is ready when its call was made and the one before it on its stream has ended. If it then starts only when another
--         stream's kernel ends, it did not fit on the device or waited for an event; a trace cannot distinguish the two. Kernels of
--         replayed graphs lack a call of their own and are excluded.
WITH words AS (
  SELECT text_id, regexp_matches(text, $waiting) AS is_waiting, regexp_matches(text, $running) AS is_running FROM nsys_text
    WHERE source_id = $source_id),
work AS (
  SELECT coalesce(pid, -1) AS pid, coalesce(device, -1) AS device, stream, correlation, start_ns, end_ns,
    coalesce(brief.is_waiting, false) OR coalesce(complete.is_waiting, false) AS is_waiting, coalesce(brief.is_running, false)
      OR coalesce(complete.is_running, false) AS is_running,
    max(end_ns) OVER (PARTITION BY pid, device, stream
      ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS free_ns
  FROM nsys_kernel AS kernel LEFT JOIN words AS brief ON brief.text_id = kernel.name_id
    LEFT JOIN words AS complete ON complete.text_id = kernel.demangled_id
  WHERE kernel.source_id = $source_id),
calls AS (
  SELECT coalesce(pid, -1) AS pid, correlation, min(start_ns) AS call_ns FROM nsys_api WHERE source_id = $source_id AND correlation > 0
    GROUP BY ALL),
ready AS (
  SELECT work.pid, work.device, work.stream, work.start_ns, greatest(calls.call_ns, coalesce(work.free_ns, calls.call_ns)) AS ready_ns
  FROM work JOIN calls USING (pid, correlation) WHERE work.is_waiting AND work.start_ns >= $from_ns AND work.start_ns < $to_ns),
running_kernels AS (SELECT pid, device, stream, start_ns AS began_ns, end_ns AS over_ns FROM work WHERE is_running),
met AS (
  SELECT ready.*, running_kernels.over_ns FROM ready ASOF JOIN running_kernels ON ready.pid = running_kernels.pid
    AND ready.device = running_kernels.device AND ready.ready_ns >= running_kernels.began_ns
  WHERE running_kernels.over_ns > ready.ready_ns AND running_kernels.stream IS DISTINCT FROM ready.stream)
SELECT pid, device, count(*) AS met, count(*) FILTER (start_ns >= over_ns AND start_ns <= over_ns + $slack_ns) AS waited,
  coalesce(sum(start_ns - ready_ns) FILTER (start_ns >= over_ns AND start_ns <= over_ns + $slack_ns), 0)::BIGINT AS waited_ns
FROM met GROUP BY pid, device ORDER BY pid, device
