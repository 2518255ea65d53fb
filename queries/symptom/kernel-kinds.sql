-- @name   symptom.kernel_kinds
-- @title  Kernels of a window by kind
-- @param  source_id INTEGER
-- @param  from_ns BIGINT
-- @param  to_ns   BIGINT
-- @col    pid       INTEGER  -1: not known
-- @col    device    INTEGER  -1: not known
-- @col    kind      VARCHAR  gemm, norm, collective, send_receive, other
-- @col    count     BIGINT
-- @col    total_ns  BIGINT   sum of durations
-- @col    median_ns DOUBLE
-- @why    FP8 speeds up matrix products only, and a short collective is a small message: durations show both. `nvjet` is cuBLAS since
--         Hopper.
WITH named AS (
  SELECT text_id, CASE
    WHEN regexp_matches(text, '(?i)^_?(nccl|rccl).*(all_?reduce|all_?gather|reduce_?scatter)') THEN 'collective'
    WHEN regexp_matches(text, '(?i)^_?(nccl|rccl).*send_?recv') THEN 'send_receive'
    WHEN regexp_matches(text, '(?i)layer_?norm|rms_?norm|\bln_(fwd|bwd)') THEN 'norm'
    WHEN regexp_matches(text, '(?i)gemm|nvjet|xmma|cublas|cutlass.*(matmul|mma)')
      AND NOT regexp_matches(text, '(?i)flash|fmha|attention|attn') THEN 'gemm' END AS kind
  FROM nsys_text WHERE source_id = $source_id)
SELECT coalesce(pid, -1) AS pid, coalesce(device, -1) AS device, coalesce(brief.kind, complete.kind, 'other') AS kind, count(*) AS count,
  sum(end_ns - start_ns)::BIGINT AS total_ns, median(end_ns - start_ns) AS median_ns
FROM nsys_kernel AS kernel LEFT JOIN named AS brief ON brief.text_id = kernel.name_id
  LEFT JOIN named AS complete ON complete.text_id = kernel.demangled_id
WHERE kernel.source_id = $source_id AND start_ns >= $from_ns AND start_ns < $to_ns
GROUP BY ALL ORDER BY pid, device, kind
