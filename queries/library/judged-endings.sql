-- @name   library.judged_endings
-- @kind   macro
-- @title  How runs ended, judged by the endings of golden ones
-- @param  document_list   VARCHAR  JSON list of {comparison, is_golden, position, document}; see judged_checks
-- @col    comparison      VARCHAR
-- @col    golden_position BIGINT   of the golden run whose ending is compared: the first that completed, else the first
-- @col    position        BIGINT   of the run
-- @col    status          VARCHAR  pass, info, undecided or regression
-- @col    is_environment  BOOLEAN  it failed, and not for its code: of the machines it ran on, of its time limit, or of another process
-- @col    is_as_far       BOOLEAN  its last iteration is not before that of every golden run
-- @why    Before any figure, because a run that failed with normal throughput is still a failure. A run without a last word passes if it
--         went as far as the golden one; the same failure on both sides changes nothing.
WITH ending AS (
  SELECT item.comparison, item.is_golden, item.position, item.document.status.ending AS how,
    item.document.status.last_iteration AS last_iteration, item.document.status.failure.kind AS failure,
    (item.document.status.verdict.cause = 'external_pressure' AND item.document.status.verdict.detail = 'other_process') IS TRUE
      OR (how = 'failed' AND item.document.status.failure.kind IN
        ('timeout', 'connection_lost', 'hardware', 'time_limit', 'cancelled', 'preempted', 'killed', 'nccl_unknown',
        'nccl_not_oom')) IS TRUE AS is_environment
  FROM (
    SELECT unnest(from_json(document_list::VARCHAR::JSON, '[{
      "comparison": "VARCHAR", "is_golden": "BOOLEAN", "position": "BIGINT", "document": {
      "status": {"ending": "VARCHAR", "last_iteration": "BIGINT", "failure": {"kind": "VARCHAR"},
        "verdict": {"cause": "VARCHAR", "detail": "VARCHAR"}}}}]')) AS item) AS listed),
golden_end AS (
  SELECT comparison, arg_min(position, CASE how WHEN 'completed' THEN position ELSE 1000000 + position END) AS position,
    arg_min(how, CASE how WHEN 'completed' THEN position ELSE 1000000 + position END) AS how,
    arg_min(coalesce(last_iteration, -1), CASE how WHEN 'completed' THEN position ELSE 1000000 + position END) AS last_iteration,
    min(last_iteration) AS least_iteration, list(failure) FILTER (how = 'failed') AS failures
  FROM ending WHERE is_golden GROUP BY comparison)
SELECT
  ending.comparison, golden_end.position AS golden_position, ending.position,
  CASE
    WHEN ending.how = 'completed' THEN 'pass'
    WHEN ending.how = 'oom' AND golden_end.how = 'oom' THEN 'info'
    WHEN ending.how = 'failed' AND golden_end.how = 'failed' AND list_contains(failures, ending.failure) THEN 'info'
    WHEN ending.how IN ('oom', 'failed') THEN CASE WHEN ending.is_environment THEN 'undecided' ELSE 'regression' END
    WHEN ending.how = 'stopped'
      THEN CASE WHEN golden_end.last_iteration >= 0 AND ending.last_iteration >= golden_end.last_iteration THEN 'pass' ELSE 'undecided' END
    ELSE 'info' END AS status,
  ending.is_environment, (ending.last_iteration >= golden_end.least_iteration) IS TRUE AS is_as_far
FROM ending JOIN golden_end ON golden_end.comparison = ending.comparison
WHERE NOT ending.is_golden
