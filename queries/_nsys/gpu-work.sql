-- @name   _nsys.gpu_work
-- @title  What a device did: intervals of computing, communicating and copying
-- @param  source_id INTEGER
-- @col    pid      INTEGER?
-- @col    device   INTEGER?
-- @col    kind     VARCHAR  compute; collective (of a whole group), send (and receive), other (communication); copy
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT
-- @why    Communication is known by the names of its kernels: NCCL, NVSHMEM, the user buffers of Transformer Engine, DeepEP, and the custom
--         all-reduces of inference engines. Data parallelism reduces and gathers, pipelines and rings of context parallelism send and
--         receive. Short names have lost their namespaces, so that both are looked at. Copies between devices are copies. Of a graph
--         replayed as a whole nothing is known but its time.
WITH named AS (
  SELECT text_id, CASE
    WHEN NOT regexp_matches(text, '(?i)^_?(nccl|rccl|nvshmem)|userbuffers|^ub_|cross_device_reduce'
      || '|one_?shot_all_?reduce|two_?shot_all_?reduce|multimem_|deep_?ep::|internode::'
      || '|intranode::|all_?(reduce|gather|to_all)_kernel|reduce_scatter_kernel') THEN NULL
    WHEN regexp_matches(text, '(?i)^_?(nccl|rccl).*(all_?reduce|all_?gather|reduce_?scatter)') THEN 'collective'
    WHEN regexp_matches(text, '(?i)^_?(nccl|rccl).*send_?recv') THEN 'send'
    ELSE 'other' END AS kind
  FROM nsys_text WHERE source_id = $source_id)
SELECT pid, device, coalesce(brief.kind, complete.kind, 'compute') AS kind, start_ns, end_ns
FROM nsys_kernel AS kernel LEFT JOIN named AS brief ON brief.text_id = kernel.name_id
  LEFT JOIN named AS complete ON complete.text_id = kernel.demangled_id
WHERE kernel.source_id = $source_id
UNION ALL SELECT pid, device, 'copy', start_ns, end_ns FROM nsys_copy WHERE source_id = $source_id
UNION ALL SELECT pid, device, 'compute', start_ns, end_ns FROM nsys_graph WHERE source_id = $source_id
