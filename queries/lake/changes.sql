-- @name    lake.changes
-- @title   What differs between a run that ran out of memory and the next one of its recipe that did not
-- @param   recipe VARCHAR   one recipe; empty: all
-- @default recipe
-- @col     recipe VARCHAR        label of the runs, else the shape of the model: layers, hidden, FFN, heads, experts
-- @col     failed_run VARCHAR    a run that ran out of memory
-- @col     next_run VARCHAR      the next run of the recipe; it did not
-- @col     kind VARCHAR          config, env or version
-- @col     key VARCHAR           what differs
-- @col     failed_value VARCHAR? in the run that failed; NULL: not set
-- @col     next_value VARCHAR?   in the next
-- @why     Of what was tried between the two, one change ended the failure. Names of jobs, nodes and ranks always differ: left out.
WITH shape AS (
  SELECT run, MAX(CASE WHEN key = 'num_layers' THEN value END) AS layers, MAX(CASE WHEN key = 'hidden_size' THEN value END) AS hidden,
    MAX(CASE WHEN key = 'ffn_hidden_size' THEN value END) AS ffn, MAX(CASE WHEN key = 'num_attention_heads' THEN value END) AS heads,
    MAX(CASE WHEN key = 'num_moe_experts' THEN value END) AS experts
  FROM run_setting
  WHERE kind = 'config'
  GROUP BY run),
failed AS (
  SELECT run, MAX(CASE WHEN failure IS NOT NULL AND cause <> 'not_oom' THEN 1 ELSE 0 END) AS has_failed FROM verdict GROUP BY run),
started AS (
  SELECT run, MAX(label) AS label, MAX(commit_sha) AS commit_sha, MIN(started_us) AS started_us FROM run_summary GROUP BY run),
known AS (
  SELECT started.run AS run, started.started_us AS started_us, failed.has_failed AS has_failed,
    COALESCE(started.label, shape.layers || '/' || shape.hidden || '/' || COALESCE(shape.ffn, '') || '/' || COALESCE(shape.heads, '') ||
      '/' || COALESCE(shape.experts, '')) AS recipe
  FROM started
  JOIN failed ON failed.run = started.run
  LEFT JOIN shape ON shape.run = started.run),
ordered AS (
  SELECT run, recipe, has_failed,
    ROW_NUMBER() OVER (PARTITION BY recipe ORDER BY started_us ASC NULLS LAST, run ASC NULLS LAST) AS place
  FROM known
  WHERE recipe IS NOT NULL AND ($recipe = '' OR recipe = $recipe)),
later AS (
  SELECT run, recipe, has_failed, place - 1 AS previous FROM ordered),
pair AS (
  SELECT ordered.recipe AS recipe, ordered.run AS failed_run, later.run AS next_run
  FROM ordered
  JOIN later ON later.recipe = ordered.recipe AND later.previous = ordered.place
  WHERE ordered.has_failed = 1 AND later.has_failed = 0),
setting AS (
  SELECT run, kind, key, MIN(value) AS least, MAX(value) AS most
  FROM run_setting
  WHERE key NOT IN ('SLURM_JOB_ID', 'SLURM_JOBID', 'SLURM_PROCID', 'SLURM_LOCALID', 'SLURM_NODEID', 'SLURM_RESTART_COUNT',
    'SLURMD_NODENAME', 'HOSTNAME', 'RANK', 'LOCAL_RANK', 'GROUP_RANK', 'ROLE_RANK', 'NODE_RANK', 'PET_NODE_RANK', 'local_rank', 'rank')
  GROUP BY run, kind, key
  UNION ALL
  SELECT run, 'version' AS kind, 'commit' AS key, commit_sha AS least, commit_sha AS most FROM started WHERE commit_sha IS NOT NULL),
side AS (
  SELECT pair.recipe AS recipe, pair.failed_run AS failed_run, pair.next_run AS next_run, setting.kind AS kind, setting.key AS key,
    setting.least AS failed_least, setting.most AS failed_most, CAST(NULL AS STRING) AS next_least, CAST(NULL AS STRING) AS next_most
  FROM pair
  JOIN setting ON setting.run = pair.failed_run
  UNION ALL
  SELECT pair.recipe AS recipe, pair.failed_run AS failed_run, pair.next_run AS next_run, setting.kind AS kind, setting.key AS key,
    CAST(NULL AS STRING) AS failed_least, CAST(NULL AS STRING) AS failed_most, setting.least AS next_least, setting.most AS next_most
  FROM pair
  JOIN setting ON setting.run = pair.next_run),
compared AS (
  SELECT recipe, failed_run, next_run, kind, key, MAX(failed_least) AS failed_least, MAX(failed_most) AS failed_value,
    MAX(next_least) AS next_least, MAX(next_most) AS next_value
  FROM side
  GROUP BY recipe, failed_run, next_run, kind, key)
SELECT recipe, failed_run, next_run, kind, key, failed_value, next_value
FROM compared
WHERE COALESCE(failed_value, '') <> COALESCE(next_value, '') OR COALESCE(failed_least, '') <> COALESCE(next_least, '')
ORDER BY recipe ASC NULLS LAST, failed_run ASC NULLS LAST, kind ASC NULLS LAST, key ASC NULLS LAST
