-- @name   library.diff_setting
-- @kind   macro
-- @title  Settings that differ between two runs
-- @param  left_run  VARCHAR  name of a run, or handle of a snapshot
-- @param  right_run VARCHAR
-- @col    part        VARCHAR  allocator (as the compared snapshots recorded it), config or env
-- @col    key         VARCHAR
-- @col    left_value  VARCHAR? NULL: the side lacks it
-- @col    right_value VARCHAR?
-- @col    place       BIGINT   within the part, as recorded or by key
-- @why    Values in force: of each key the latest launch that has it, then the strongest origin, then the later place. Spellings of one
--         value are one. Where a file gives a key several values at several paths, the paths are the keys. A part that a side did not
--         record is left out, except that of the allocator. The verb diff leaves out names, paths and the like, which differ in every run.
WITH compared_run AS (
  SELECT false AS is_right, run_id FROM run WHERE name = left_run
  UNION ALL SELECT true, run_id FROM run WHERE name = right_run
  UNION ALL SELECT false, run_id FROM snapshot WHERE handle = left_run
  UNION ALL SELECT true, run_id FROM snapshot WHERE handle = right_run),
found AS (
  SELECT
    compared_run.is_right, config.key, replace(regexp_replace(config.raw_key, '^-+', ''), '-', '_') AS path, config.attempt, config.origin,
    config.precedence, config.line, source.display_path,
    regexp_replace(regexp_replace(trim(config.value), '^(["''])(.*)["'']$', '\2', 's'), '^torch\.', '') AS value
  FROM compared_run
  JOIN config_value AS config ON config.run_id = compared_run.run_id
  JOIN source ON source.source_id = config.source_id),
repeated AS (
  SELECT DISTINCT key
  FROM (SELECT key FROM found GROUP BY is_right, key, attempt, origin, display_path
    HAVING count(DISTINCT path) > 1 AND count(DISTINCT value) > 1) AS several),
config AS (
  SELECT
    is_right, CASE WHEN key IN (SELECT repeated.key FROM repeated) THEN path ELSE key END AS key,
    CASE
      WHEN value IS NULL OR lower(value) IN ('none', 'null', '~', '') THEN 'null'
      WHEN lower(value) IN ('true', 'false') THEN lower(value)
      WHEN number = trunc(number) AND abs(number) < 1e15 THEN number::BIGINT::VARCHAR
      ELSE coalesce(number::VARCHAR, value) END AS value
  FROM (
    SELECT *, CASE WHEN regexp_full_match(value, '[-+]?[0-9._]{1,30}([eE][-+]?[0-9]{1,3})?')
      THEN TRY_CAST(replace(value, '_', '') AS DOUBLE) END AS number
    FROM found) AS spelled
  QUALIFY row_number() OVER (
    PARTITION BY is_right, CASE WHEN key IN (SELECT repeated.key FROM repeated) THEN path ELSE key END
    ORDER BY attempt DESC, precedence, display_path DESC, line DESC) = 1),
held AS (
  SELECT is_right, 'config' AS part, key, value FROM config
  UNION ALL
  SELECT false, 'env', key, value
  FROM env_in_force((SELECT run_id FROM compared_run WHERE NOT is_right)) AS variable WHERE variable.place = 1
  UNION ALL
  SELECT true, 'env', key, value
  FROM env_in_force((SELECT run_id FROM compared_run WHERE is_right)) AS variable WHERE variable.place = 1),
both_have AS (SELECT part FROM held GROUP BY part HAVING count(DISTINCT is_right) = 2)
SELECT 'allocator' AS part, key, left_value, right_value, place FROM diff_allocator(left_run, right_run) AS recorded
UNION ALL
SELECT
  part, key, max(value) FILTER (NOT is_right) AS left_value, max(value) FILTER (is_right) AS right_value,
  row_number() OVER (PARTITION BY part ORDER BY key) AS place
FROM held
WHERE part IN (SELECT both_have.part FROM both_have)
GROUP BY part, key
HAVING left_value IS DISTINCT FROM right_value
