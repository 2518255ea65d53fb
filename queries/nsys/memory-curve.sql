-- @name   nsys.memory_curve
-- @title  Memory held at the driver over time, by process, device and kind
-- @param  source_id INTEGER
-- @param  columns BIGINT  equal slices of time, each with the most that was held in it
-- @uses   _nsys.memory_steps
-- @uses   _nsys.memory_before
-- @col    pid     INTEGER?
-- @col    device  INTEGER?
-- @col    kind    VARCHAR
-- @col    slice   BIGINT   from 0
-- @col    start_ns BIGINT  of the slice
-- @col    bytes   BIGINT   the most held in it
-- @why    Between two events nothing changes: a slice without one holds what the one before ended with. What was freed without having been
--         allocated is held from the start.
WITH span AS (SELECT min(time_ns) AS first_ns, greatest(1, max(time_ns) - min(time_ns) + 1) AS length_ns FROM memory_steps),
curve AS (
  SELECT steps.pid, steps.device, steps.kind, least($columns - 1, ((time_ns - first_ns)::HUGEINT * $columns // length_ns)::BIGINT) AS slice,
    coalesce(start.bytes, 0) + sum(steps.bytes) OVER (PARTITION BY steps.pid, steps.device, steps.kind
      ORDER BY time_ns, rising, seq ROWS UNBOUNDED PRECEDING) AS total,
    row_number() OVER (PARTITION BY steps.pid, steps.device, steps.kind ORDER BY time_ns, rising, seq) AS place
  FROM memory_steps AS steps CROSS JOIN span
  LEFT JOIN memory_before AS start ON start.pid IS NOT DISTINCT FROM steps.pid AND start.device IS NOT DISTINCT FROM steps.device
    AND start.kind = steps.kind),
slices AS (
  SELECT pid, device, kind, slice, max(total) AS most, arg_max(total, place) AS last FROM curve GROUP BY pid, device, kind, slice),
every AS (
  SELECT series.pid, series.device, series.kind, numbers.slice
  FROM (SELECT DISTINCT pid, device, kind FROM memory_steps) AS series CROSS JOIN (SELECT unnest(range($columns)) AS slice) AS numbers),
filled AS (
  SELECT every.*, slices.most,
    last_value(slices.last IGNORE NULLS) OVER (PARTITION BY every.pid, every.device, every.kind
      ORDER BY every.slice ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
  FROM every LEFT JOIN slices ON slices.pid IS NOT DISTINCT FROM every.pid AND slices.device IS NOT DISTINCT FROM every.device
    AND slices.kind = every.kind AND slices.slice = every.slice)
SELECT filled.pid, filled.device, filled.kind::VARCHAR AS kind, filled.slice,
  (first_ns + (filled.slice::HUGEINT * length_ns // $columns))::BIGINT AS start_ns,
  greatest(coalesce(most, 0), coalesce(before, start.bytes, 0))::BIGINT AS bytes
FROM filled CROSS JOIN span
LEFT JOIN memory_before AS start ON start.pid IS NOT DISTINCT FROM filled.pid AND start.device IS NOT DISTINCT FROM filled.device
  AND start.kind = filled.kind
ORDER BY filled.pid, filled.device, filled.kind, filled.slice
