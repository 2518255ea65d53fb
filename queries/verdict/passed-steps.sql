-- @name   verdict.passed_steps
-- @title  The steps before an OOM: peak and end of each; and the peak of a step like the last whole one, from where the failing one begins
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  firsts      VARCHAR  first entries of the steps, ascending and disjoint: 1,5
-- @param  lasts       VARCHAR  last entries, in the same order
-- @param  wholes      VARCHAR  1 where the trace shows the step from its start, else 0
-- @param  starts_empty BOOLEAN the trace misses nothing before it
-- @param  before_seq  INTEGER  the OOM
-- @uses   verdict.optimizer_allocations
-- @col    nth        INTEGER  from 0
-- @col    is_settled BOOLEAN  whole, and not the first of a process: that is its warm-up
-- @col    peak_bytes BIGINT
-- @col    end_bytes  BIGINT
-- @col    projected_bytes BIGINT? live memory at the peak of the failing step, were it like the one projected from
-- @col    first_seq  INTEGER? of that
-- @col    last_seq   INTEGER?
-- @why    The first step of a process begins with the setup, and the optimizer makes its states at its end: of it, what its forward and
--         backward reached and what came after them to stay; the optimizer's own peak as it was.
WITH span AS (
  SELECT unnest(range(0, len(string_split($firsts, ','))))::INTEGER AS nth, unnest(string_split($firsts, ',')::INTEGER[]) AS from_seq,
    unnest(string_split($lasts, ',')::INTEGER[]) AS to_seq, unnest(string_split($wholes, ',')::INTEGER[]) = 1 AS is_whole),
chosen AS (SELECT coalesce(max(nth) FILTER (is_whole), CASE WHEN $starts_empty THEN 0 END) AS nth FROM span),
-- The first step in two parts, and what comes before it.
cut AS (
  SELECT coalesce(min(seq), string_split($lasts, ',')[1]::INTEGER + 1) AS seq
  FROM optimizer_allocations WHERE seq <= string_split($lasts, ',')[1]::INTEGER),
piece AS (
  SELECT * FROM (
    SELECT -1 AS nth, 0 AS part, 0 AS from_seq, min(from_seq) - 1 AS to_seq FROM span
    UNION ALL SELECT nth, 0, from_seq, CASE WHEN nth = 0 THEN least(to_seq, cut.seq - 1) ELSE to_seq END FROM span CROSS JOIN cut
    UNION ALL SELECT nth, 1, greatest(from_seq, cut.seq), to_seq FROM span CROSS JOIN cut WHERE nth = 0)
  WHERE from_seq <= to_seq),
-- What holds at the first entry of each piece, then every change inside it; no range joins, as in state.range_totals.
entry AS (
  SELECT seq, any_value(piece) AS piece, max(active_bytes) AS active
  FROM (
    SELECT seq, NULL AS piece, active_bytes
    FROM totals_between($snapshot_id, $device, 0, string_split($lasts, ',')[-1]::INTEGER) AS total
    UNION ALL SELECT from_seq, piece, NULL FROM piece)
  GROUP BY seq),
held AS (
  SELECT seq, last_value(piece IGNORE NULLS) OVER entries AS piece, last_value(active IGNORE NULLS) OVER entries AS active
  FROM entry
  WINDOW entries AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)),
total AS (
  SELECT piece.nth AS nth, piece.part AS part, max(active) AS peak_bytes, arg_max(active, seq) AS end_bytes
  FROM held WHERE seq <= piece.to_seq GROUP BY ALL),
step AS (
  SELECT span.nth, span.from_seq, span.to_seq, span.is_whole, coalesce(max(total.peak_bytes), 0) AS peak_bytes,
    coalesce(arg_max(total.end_bytes, total.part), 0) AS end_bytes
  FROM span LEFT JOIN total ON total.nth = span.nth
  GROUP BY ALL),
first_step AS (
  SELECT arg_min(total, part) AS early, CASE WHEN count(*) = 2 THEN max_by(peak_bytes, part) ELSE 0 END AS late_peak_bytes
  FROM total WHERE nth = 0),
projected AS (
  SELECT
    CASE WHEN chosen.nth = 0 AND $starts_empty
        THEN greatest(first_step.early.peak_bytes + now.end_bytes - first_step.early.end_bytes, late_peak_bytes)
      ELSE own.peak_bytes - coalesce(before.end_bytes, 0) + now.end_bytes END AS bytes,
    own.from_seq, own.to_seq
  FROM chosen
  JOIN step AS own ON own.nth = chosen.nth
  LEFT JOIN (SELECT nth, arg_max(end_bytes, part) AS end_bytes FROM total GROUP BY nth) AS before ON before.nth = chosen.nth - 1
  CROSS JOIN first_step
  CROSS JOIN (SELECT arg_max(end_bytes, nth) AS end_bytes FROM step) AS now)
SELECT step.nth, step.is_whole AND (step.nth > 0 OR NOT $starts_empty) AS is_settled, step.peak_bytes, step.end_bytes,
  projected.bytes::BIGINT AS projected_bytes, projected.from_seq AS first_seq, projected.to_seq AS last_seq
FROM step
LEFT JOIN projected ON true
ORDER BY nth
