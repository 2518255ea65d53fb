-- @name   compare.contract
-- @title  What two runs have in common that their figures depend on, and what not; differences first
-- @param  golden  VARCHAR  JSON object: of `config`, `device`, `layout` and `revision` an object of texts
-- @param  current VARCHAR
-- @col    group_name  VARCHAR  as in contract_key; revision: versions and commits
-- @col    key         VARCHAR
-- @col    golden      VARCHAR?
-- @col    current     VARCHAR?
-- @col    is_same     BOOLEAN
-- @col    is_blocking BOOLEAN  a difference that makes the figures incomparable
-- @why    A key that a side lacks is not compared: its value there is unknown. Totals of one kind of device differ by some tens of MiB
--         between drivers.
WITH side AS (
  SELECT is_golden, unnest(from_json(document::JSON, '{"config": "MAP(VARCHAR, VARCHAR)", "device": "MAP(VARCHAR, VARCHAR)",
    "layout": "MAP(VARCHAR, VARCHAR)", "revision": "MAP(VARCHAR, VARCHAR)"}'))
  FROM (VALUES (true, $golden), (false, $current)) AS sides(is_golden, document)),
fact AS (
  SELECT is_golden, contract_key.place, contract_key.group_name, contract_key.key,
    (CASE group_name WHEN 'device' THEN device WHEN 'layout' THEN layout ELSE config END)[key] AS value
  FROM side CROSS JOIN contract_key
  UNION ALL
  SELECT is_golden, 600, 'revision', entry.key, entry.value
  FROM (SELECT is_golden, unnest(map_entries(revision)) AS entry FROM side)),
pair AS (
  SELECT place, group_name, key, max(value) FILTER (is_golden) AS golden, max(value) FILTER (NOT is_golden) AS current
  FROM fact GROUP BY ALL)
SELECT group_name, key, golden, current,
  golden IS NULL OR current IS NULL OR golden = current
    OR (key = 'gpu_total_bytes' AND abs(try_cast(golden AS DOUBLE) - try_cast(current AS DOUBLE)) <= 0.02 * try_cast(golden AS DOUBLE))
      AS is_same,
  group_name <> 'revision' AND NOT is_same AS is_blocking
FROM pair
WHERE coalesce(golden, current) IS NOT NULL AND (key <> 'gpu_total_bytes' OR (golden IS NOT NULL AND current IS NOT NULL))
ORDER BY is_same, place, starts_with(key, 'commit '), key
