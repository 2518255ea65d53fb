-- @name   verdict.keeping_sites
-- @title  Call sites that left something over in nearly every settled step before an OOM, about as much in each
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  the state looked at
-- @param  firsts VARCHAR  first entries of the steps, ascending and disjoint: 1,5
-- @param  lasts  VARCHAR  last entries, in the same order
-- @param  wholes  VARCHAR 1 where the trace shows the step from its start, else 0
-- @param  starts_empty BOOLEAN the first step is that of the process, and does not count
-- @col    site           VARCHAR
-- @col    bytes          BIGINT  live, from before the failing step
-- @col    blocks         BIGINT
-- @col    steps          BIGINT  settled steps that left something of it
-- @col    bytes_per_step BIGINT  the median of these
-- @why    This excludes parameters and optimizer states (never freed either, but allocated in one burst, in or before the first step), what
--         is in flight in the failing step, and buffers allocated late, once. Without a frame, two blocks cannot be attributed to one
--         place.
WITH span AS (
  SELECT unnest(range(0, len(string_split($firsts, ',')))) AS nth, unnest(string_split($firsts, ',')::INTEGER[]) AS seq,
    unnest(string_split($lasts, ',')::INTEGER[]) AS to_seq,
    unnest(string_split($wholes, ',')::INTEGER[]) = 1 AND (nth > 0 OR NOT $starts_empty) AS is_settled),
born AS (
  SELECT coalesce(live.alloc_seq, -1) AS seq, stack.site, live.actual_bytes AS bytes
  FROM live_at($snapshot_id, $device, $at_seq) AS live JOIN stack ON stack.stack_id = live.stack_id
  WHERE stack.site <> '' AND coalesce(live.alloc_seq, -1) <= string_split($lasts, ',')[-1]::INTEGER),
-- No range join: DuckDB compares all pairs where it expects few rows, as it does of unnest().
entry AS (
  SELECT seq, 0 AS place, NULL AS site, 0 AS bytes, nth, to_seq, is_settled FROM span
  UNION ALL SELECT seq, 1, site, bytes, NULL, NULL, NULL FROM born),
placed AS (
  SELECT seq, site, bytes, last_value(nth IGNORE NULLS) OVER entries AS nth, last_value(to_seq IGNORE NULLS) OVER entries AS to_seq,
    last_value(is_settled IGNORE NULLS) OVER entries AS is_settled
  FROM entry
  WINDOW entries AS (ORDER BY seq, place ROWS UNBOUNDED PRECEDING)),
step AS (
  SELECT site, CASE WHEN seq <= to_seq AND is_settled THEN nth END AS nth, sum(bytes) AS bytes, count(*) AS blocks
  FROM placed WHERE site IS NOT NULL GROUP BY ALL),
births AS (
  SELECT site, sum(bytes) AS bytes, sum(blocks) AS blocks, coalesce(sum(bytes) FILTER (nth IS NULL), 0) AS earlier,
    list_sort(list(bytes) FILTER (nth IS NOT NULL)) AS kept
  FROM step GROUP BY site),
keeper AS (
  SELECT *, len(kept) AS steps, kept[len(kept) // 2 + 1] AS median, (SELECT count(*) FILTER (is_settled) FROM span) AS settled_steps
  FROM births WHERE len(kept) > 0)
SELECT site, bytes::BIGINT AS bytes, blocks::BIGINT AS blocks, steps, median::BIGINT AS bytes_per_step
FROM keeper
CROSS JOIN cause_threshold AS threshold
WHERE kept[-1] <= threshold.largest_kept_factor * median
  AND CASE WHEN settled_steps >= threshold.fewest_keeping_steps
      THEN steps >= greatest(threshold.fewest_keeping_steps, ceil(threshold.keeping_steps_share * settled_steps))
    ELSE earlier >= threshold.kept_before_factor * median END
ORDER BY bytes DESC, site
