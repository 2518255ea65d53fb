-- @name   _nsys.gpu_work
-- @title  What a device did: intervals of computing, communicating and copying
-- @param  source_id INTEGER
-- @col    pid      INTEGER?
-- @col    device   INTEGER?
-- @col    class    VARCHAR  compute, communication, copy
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT
-- @why    Communication is known by the names of its kernels: NCCL, NVSHMEM, the user buffers of Transformer Engine, DeepEP, and the custom
--         all-reduces of inference engines. Short names have lost their namespaces, so that both are looked at. Copies between devices are
--         copies. Of a graph replayed as a whole nothing is known but its time.
WITH named AS (
  SELECT text_id, regexp_matches(text, '(?i)^_?(nccl|rccl|nvshmem)|userbuffers|^ub_|cross_device_reduce'
    || '|one_?shot_all_?reduce|two_?shot_all_?reduce|multimem_|deep_?ep::|internode::'
    || '|intranode::|all_?(reduce|gather|to_all)_kernel|reduce_scatter_kernel') AS communicates
  FROM nsys_text WHERE source_id = $source_id)
SELECT pid, device, CASE WHEN brief.communicates OR complete.communicates THEN 'communication' ELSE 'compute' END AS class, start_ns, end_ns
FROM nsys_kernel AS kernel LEFT JOIN named AS brief ON brief.text_id = kernel.name_id
  LEFT JOIN named AS complete ON complete.text_id = kernel.demangled_id
WHERE kernel.source_id = $source_id
UNION ALL SELECT pid, device, 'copy', start_ns, end_ns FROM nsys_copy WHERE source_id = $source_id
UNION ALL SELECT pid, device, 'compute', start_ns, end_ns FROM nsys_graph WHERE source_id = $source_id
