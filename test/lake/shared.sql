-- Every construct of the shared SQL once, for the engines to agree on.
-- @param   name VARCHAR  a run, or part of one
-- @default name llama3%
-- @param   least BIGINT  a number below 0 too
-- @default least -1
WITH part AS (
  SELECT run, rank, component, CAST(SUM(bytes) AS DECIMAL(38, 0)) AS bytes, COUNT(*) AS parts, COUNT(DISTINCT phase) AS phases,
    MIN(phase) AS first_phase, MAX(UPPER(phase)) AS last_phase
  FROM peak_component
  WHERE run LIKE $name AND (rank BETWEEN 0 AND 3 OR rank IN (5, 7)) AND NOT rank = 2 AND rank > $least AND component IS NOT NULL
  GROUP BY run, rank, component
  HAVING COUNT(*) > 0),
named AS (
  SELECT DISTINCT component FROM part),
joined AS (
  SELECT run, rank, component, part.bytes AS bytes, part.parts AS parts, part.phases AS phases, part.first_phase AS first_phase,
    part.last_phase AS last_phase
  FROM part
  JOIN named USING (component)),
tagged AS (
  SELECT component, LOWER(component) || '/' || CAST(1 AS STRING) AS tag FROM named WHERE component <> 'gradient'
  UNION ALL
  SELECT 'nothing' AS component, 'x' AS tag FROM named),
tag AS (
  SELECT component, tag FROM tagged
  UNION
  SELECT component, tag FROM tagged),
placed AS (
  SELECT run, rank, component, bytes, parts, phases, first_phase, last_phase,
    ROW_NUMBER() OVER (PARTITION BY run ORDER BY bytes DESC NULLS LAST, rank ASC NULLS LAST, component ASC NULLS LAST) AS place,
    RANK() OVER (PARTITION BY run ORDER BY parts ASC NULLS FIRST) AS parts_rank,
    DENSE_RANK() OVER (PARTITION BY run ORDER BY parts ASC NULLS FIRST) AS parts_dense_rank,
    LAG(component) OVER (PARTITION BY run, rank ORDER BY component ASC NULLS LAST) AS before_it,
    LEAD(component) OVER (PARTITION BY run, rank ORDER BY component ASC NULLS LAST) AS after_it,
    CAST(SUM(bytes) OVER (PARTITION BY run, rank) AS DECIMAL(38, 0)) AS rank_bytes,
    CAST(SUM(bytes) OVER (PARTITION BY run, rank ORDER BY component ASC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS DECIMAL(38, 0)) AS running_bytes,
    MIN(bytes) OVER (PARTITION BY run, rank ORDER BY component ASC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS least_bytes,
    COUNT(*) OVER (PARTITION BY run, rank) AS components
  FROM joined),
size AS (
  SELECT MAX(bytes) AS most_bytes FROM part)
SELECT placed.run AS run, placed.rank AS rank, COALESCE(placed.component, tag.component) AS component, tag.tag AS tag,
  placed.bytes AS bytes, placed.parts AS parts, placed.phases AS phases, placed.first_phase AS first_phase,
  placed.last_phase AS last_phase, placed.place AS place, placed.parts_rank AS parts_rank,
  placed.parts_dense_rank AS parts_dense_rank, placed.before_it AS before_it, placed.after_it AS after_it,
  placed.rank_bytes AS rank_bytes, placed.running_bytes AS running_bytes, placed.least_bytes AS least_bytes,
  placed.components AS components, ABS(placed.rank - 3) + placed.rank % 2 AS number,
  CAST(placed.rank AS DOUBLE) / NULLIF(placed.components, 0) AS ratio, CAST(placed.components AS INTEGER) AS few,
  CASE WHEN placed.place = 1 THEN 'first' WHEN placed.place < 4 THEN 'next' ELSE NULL END AS words,
  CASE placed.rank WHEN 0 THEN TRUE ELSE FALSE END AS is_zero, CAST(size.most_bytes - placed.bytes AS DECIMAL(38, 0)) AS less_bytes
FROM placed
FULL JOIN tag ON tag.component = placed.component
CROSS JOIN size
ORDER BY run ASC NULLS LAST, rank ASC NULLS LAST, component ASC NULLS LAST, tag ASC NULLS FIRST
LIMIT 500
