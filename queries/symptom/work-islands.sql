-- @name   symptom.work_islands
-- @title  Times in which a device was busy, by what it did, overlaps joined
-- @param  source_id INTEGER
-- @param  from_ns BIGINT
-- @param  to_ns   BIGINT
-- @col    pid      INTEGER  -1: not known
-- @col    device   INTEGER  -1: not known
-- @col    kind     INTEGER  0 compute, 1 collectives of a whole group, 2 sends and receives, 3 other communication, 4 copies
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT
-- @why    Kinds of communication are distinguished by kernel names: data parallelism reduces and gathers, pipelines and rings of context
--         parallelism send and receive. What is known to be communication is the same as in nsys.busy_islands.
WITH named AS (
  SELECT text_id, CASE
    WHEN NOT regexp_matches(text, '(?i)^_?(nccl|rccl|nvshmem)|userbuffers|^ub_|cross_device_reduce'
      || '|one_?shot_all_?reduce|two_?shot_all_?reduce|multimem_|deep_?ep::|internode::'
      || '|intranode::|all_?(reduce|gather|to_all)_kernel|reduce_scatter_kernel') THEN NULL
    WHEN regexp_matches(text, '(?i)^_?(nccl|rccl).*(all_?reduce|all_?gather|reduce_?scatter)') THEN 1
    WHEN regexp_matches(text, '(?i)^_?(nccl|rccl).*send_?recv') THEN 2
    ELSE 3 END AS kind
  FROM nsys_text WHERE source_id = $source_id),
work AS (
  SELECT pid, device, coalesce(brief.kind, complete.kind, 0) AS kind, start_ns, end_ns
  FROM nsys_kernel AS kernel LEFT JOIN named AS brief ON brief.text_id = kernel.name_id
    LEFT JOIN named AS complete ON complete.text_id = kernel.demangled_id
  WHERE kernel.source_id = $source_id
  UNION ALL SELECT pid, device, 4, start_ns, end_ns FROM nsys_copy WHERE source_id = $source_id
  UNION ALL SELECT pid, device, 0, start_ns, end_ns FROM nsys_graph WHERE source_id = $source_id),
marked AS (
  SELECT *, start_ns > max(end_ns) OVER (PARTITION BY pid, device, kind
    ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS begins
  FROM work WHERE end_ns > $from_ns AND start_ns < $to_ns),
numbered AS (
  SELECT *, sum(CASE WHEN begins THEN 1 ELSE 0 END) OVER (PARTITION BY pid, device, kind
    ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING) AS island FROM marked)
SELECT coalesce(pid, -1) AS pid, coalesce(device, -1) AS device, kind, greatest(min(start_ns), $from_ns)::BIGINT AS start_ns,
  least(max(end_ns), $to_ns)::BIGINT AS end_ns
FROM numbered GROUP BY numbered.pid, numbered.device, kind, island
ORDER BY pid, device, start_ns, kind
