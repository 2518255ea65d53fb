-- @name   state.range_totals
-- @title  Peak and end of a device's active memory in ranges of its trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  firsts VARCHAR  first entries, ascending and disjoint: 1,5
-- @param  lasts  VARCHAR  last entries, in the same order
-- @col    nth               INTEGER
-- @col    peak_active_bytes BIGINT
-- @col    peak_active_seq   INTEGER  the first entry of the range after which it holds
-- @col    end_active_bytes  BIGINT
-- @why    Steps are such ranges. A total holds from the entry that changes it until the next one does.
WITH range AS (
  SELECT unnest(range(0, len(string_split($firsts, ',')::INTEGER[])))::INTEGER AS nth,
    unnest(string_split($firsts, ',')::INTEGER[]) AS from_seq, unnest(string_split($lasts, ',')::INTEGER[]) AS to_seq),
total AS (
  SELECT seq, active_bytes
  FROM totals_between($snapshot_id, $device, string_split($firsts, ',')[1]::INTEGER, string_split($lasts, ',')[-1]::INTEGER) AS total),
-- What holds at the first entry of each range, then every change inside it. No ASOF joins: DuckDB compares all pairs where
-- it expects few rows, as it does of unnest().
entry AS (
  SELECT seq, max(nth) AS nth, max(to_seq) AS to_seq, max(active_bytes) AS active
  FROM (SELECT seq, NULL AS nth, NULL AS to_seq, active_bytes FROM total UNION ALL SELECT from_seq, nth, to_seq, NULL FROM range)
  GROUP BY seq),
held AS (
  SELECT seq, max(nth) OVER entries AS nth, max(to_seq) OVER entries AS to_seq, last_value(active IGNORE NULLS) OVER entries AS active
  FROM entry
  WINDOW entries AS (ORDER BY seq ROWS UNBOUNDED PRECEDING))
SELECT nth, max(active) AS peak_active_bytes, arg_max(seq, (active, -seq)) AS peak_active_seq, arg_max(active, seq) AS end_active_bytes
FROM held
WHERE seq <= to_seq
GROUP BY nth
ORDER BY nth
