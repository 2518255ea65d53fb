-- @name   library.cause_graph_pools
-- @kind   view
-- @title  Whether what was missing is free in private pools (CUDA graphs, MemPool), which the default pool can never use
-- @col    run_id     INTEGER
-- @col    failure    INTEGER   within the run
-- @col    reason     VARCHAR   a row of cause_reason
-- @col    confidence VARCHAR   of an outcome that holds, by its own figures
-- @col    doubts     VARCHAR[] evidence against the outcome
-- @col    numbers    MAP(VARCHAR, DOUBLE)  what it was decided by; names end in their unit
-- @why    Small free pieces elsewhere may barely add up; the pools still hold what was missing.
WITH joined AS (
  SELECT sum.*, fact.private_free_bytes AS idle_bytes, fact.private_free_precision_bytes AS idle_precision_bytes,
    greatest(0, fact.reserved_bytes - sum.live_bytes - fact.private_free_bytes) AS elsewhere_bytes,
    sum.short_bytes + fact.private_free_bytes <= 0 AS fits_without, part.serves, part.left_bytes
  FROM oom_sum AS sum
  JOIN oom_fact AS fact ON fact.run_id = sum.run_id AND fact.failure = sum.failure
  LEFT JOIN oom_part AS part ON part.run_id = sum.run_id AND part.failure = sum.failure AND part.part = 'private_pools_free'),
reasoned AS (
  SELECT *,
    CASE
      WHEN short_bytes IS NULL THEN 'figures_missing'
      WHEN idle_bytes IS NULL THEN 'not_in_message'
      WHEN idle_bytes = 0 THEN 'nothing_free'
      WHEN short_bytes > 0 OR fits_without AND serves IS NOT TRUE THEN 'does_not_decide'
      WHEN is_nearly_full THEN 'full_in_any_case'
      ELSE 'free_in_pools' END AS reason
  FROM joined),
tested AS (
  SELECT * EXCLUDE (numbers), CASE WHEN idle_precision_bytes = 0 THEN 'high' ELSE 'medium' END AS confidence,
    CASE WHEN reason = 'free_in_pools' AND fits_without THEN ['small_pieces_elsewhere'] ELSE [] END::VARCHAR[] AS doubts,
    CASE WHEN reason IN ('figures_missing', 'not_in_message') THEN MAP {}::MAP(VARCHAR, DOUBLE)
      ELSE map_concat(numbers, MAP {'idle_in_pools_bytes': idle_bytes::DOUBLE, 'cached_elsewhere_bytes': elsewhere_bytes::DOUBLE,
        'left_bytes': (CASE WHEN fits_without THEN left_bytes ELSE -short_bytes END)::DOUBLE}) END
      AS numbers
  FROM reasoned)
SELECT run_id, failure, reason, confidence, doubts, numbers
FROM tested
