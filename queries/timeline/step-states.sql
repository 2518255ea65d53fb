-- @name   timeline.step_states
-- @title  Memory over each of a list of ranges of entries
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  firsts VARCHAR  first entries, ascending and disjoint: 1,5
-- @param  lasts  VARCHAR  last entries, in the same order
-- @col    nth                 INTEGER  place in the list, from 0
-- @col    start_active_bytes  BIGINT?  after the entry before the range; NULL where no row ends there
-- @col    peak_active_bytes   BIGINT
-- @col    peak_first_seq      INTEGER  the row that first reaches it
-- @col    peak_last_seq       INTEGER
-- @col    peak_reserved_bytes BIGINT
-- @col    end_active_bytes    BIGINT   after the last entry
-- @col    end_reserved_bytes  BIGINT
-- @why    One pass for all steps. Rows must be cut at the ends of the ranges (exact rows are), and a row of one entry must end each.
WITH
  list AS (
    SELECT unnest(range(0, len(string_split($firsts, ',')::INTEGER[])))::INTEGER AS nth,
      unnest(string_split($firsts, ',')::INTEGER[]) AS from_seq, unnest(string_split($lasts, ',')::INTEGER[]) AS to_seq),
  row AS (SELECT * FROM derived_bucket WHERE snapshot_id = $snapshot_id AND device = $device),
  inside AS (
    SELECT list.nth, list.from_seq, list.to_seq, row.*, max(row.active_max_bytes) OVER (PARTITION BY list.nth) AS peak
    FROM row ASOF JOIN list ON row.first_seq >= list.from_seq
    WHERE row.last_seq <= list.to_seq)
SELECT
  inside.nth,
  any_value(before.active_max_bytes) AS start_active_bytes,
  any_value(inside.peak) AS peak_active_bytes,
  min(inside.first_seq) FILTER (inside.active_max_bytes = inside.peak) AS peak_first_seq,
  min(inside.last_seq) FILTER (inside.active_max_bytes = inside.peak) AS peak_last_seq,
  max(inside.reserved_max_bytes) AS peak_reserved_bytes,
  arg_max(inside.active_max_bytes, inside.first_seq) AS end_active_bytes,
  arg_max(inside.reserved_max_bytes, inside.first_seq) AS end_reserved_bytes
FROM inside
LEFT JOIN row AS before ON before.last_seq = inside.from_seq - 1 AND before.first_seq = before.last_seq AND before.first_seq > 0
GROUP BY inside.nth
ORDER BY inside.nth
