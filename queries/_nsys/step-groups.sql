-- @name   _nsys.step_groups
-- @title  The ranges of one text on one lane
-- @param  source_id INTEGER
-- @uses   _nsys.step_ranges
-- @col    lane      BIGINT
-- @col    pid       INTEGER?
-- @col    template  VARCHAR
-- @col    kind      VARCHAR
-- @col    label     VARCHAR  the name where it is always the same, else the template
-- @col    count     BIGINT
-- @col    total_ns  BIGINT   sum of their durations
-- @col    median_ns DOUBLE   of their durations
-- @col    start_ns  BIGINT   of the first
-- @col    end_ns    BIGINT   of the last
-- @col    is_overlapping  BOOLEAN  one begins before another has ended
-- @col    numbering VARCHAR  constant, rising, or repeating: the numbers of layers and micro-batches begin anew
-- @why    Ranges that repeat over time at one level are one text on one lane.
WITH compared AS (
  SELECT *, start_ns < max(end_ns) OVER (PARTITION BY lane, template
      ORDER BY start_ns, end_ns, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS is_over,
    numbers > lag(numbers) OVER (PARTITION BY lane, template ORDER BY start_ns, end_ns, seq) AS rises
  FROM step_ranges)
SELECT lane, any_value(pid) AS pid, template, any_value(kind) AS kind,
  CASE WHEN min(min(name)) OVER (PARTITION BY template) = max(max(name)) OVER (PARTITION BY template)
    THEN min(name) ELSE template END AS label,
  count(*) AS count, sum(end_ns - start_ns)::BIGINT AS total_ns, median(end_ns - start_ns) AS median_ns, min(start_ns) AS start_ns,
  max(end_ns) AS end_ns, coalesce(bool_or(is_over), false) AS is_overlapping,
  CASE WHEN min(name) = max(name) THEN 'constant' WHEN bool_and(coalesce(rises, true)) THEN 'rising' ELSE 'repeating' END AS numbering
FROM compared GROUP BY lane, template
