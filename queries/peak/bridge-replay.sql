-- @name   peak.bridge_replay
-- @title  A replay of allocations and completed frees from zero: its figures, and what is live at its peak by stack
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  start_us    BIGINT?  only entries from this microsecond on, with what was live before; NULL: the whole trace
-- @param  end_us      BIGINT?  up to this microsecond; NULL: to the end
-- @col    peak_delta_bytes HUGEINT  of the requested bytes, as all others
-- @col    end_delta_bytes  HUGEINT
-- @col    start_delta_bytes HUGEINT before the first of these entries, by the sizes on the frees themselves
-- @col    end_live_bytes   HUGEINT
-- @col    allocs           BIGINT
-- @col    frees            BIGINT
-- @col    allocated_bytes  HUGEINT
-- @col    unmatched_frees  BIGINT   of memory whose allocation was not seen
-- @col    unmatched_bytes  HUGEINT
-- @col    stack_id         INTEGER? one row for each stack with live memory at the peak, in order of the allocations
-- @col    bytes            BIGINT?  NULL: nothing is live there
-- @col    count            BIGINT
-- @why    Megatron Bridge's scripts replay these two actions only. A free takes the size of the allocation at its address.
WITH trace AS (
  SELECT seq, action = 'alloc' AS is_alloc, addr, size_bytes, time_us, stack_id
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('alloc', 'free_completed')),
opening AS (
  SELECT CASE WHEN $start_us IS NULL THEN -1
    ELSE coalesce(min(seq) FILTER (time_us IS NULL OR time_us >= $start_us), 2147483647) END AS first_seq
  FROM trace),
entry AS (
  SELECT trace.*, trace.seq < opening.first_seq AS is_before,
    lag(CASE WHEN is_alloc THEN size_bytes END) OVER at_address AS held_bytes, lead(seq) OVER at_address AS next_seq
  FROM trace, opening
  WHERE $start_us IS NULL OR seq < first_seq OR (time_us >= $start_us AND ($end_us IS NULL OR time_us <= $end_us))
  WINDOW at_address AS (PARTITION BY addr ORDER BY seq)),
counted AS (
  SELECT *,
    sum(CASE WHEN is_before THEN 0 WHEN is_alloc THEN size_bytes ELSE -coalesce(held_bytes, size_bytes) END)
      OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS delta
  FROM entry),
figures AS (
  SELECT
    coalesce(max(delta) FILTER (is_alloc AND NOT is_before AND delta > 0), 0) AS peak_delta_bytes,
    coalesce(
      arg_max(seq, (delta, -seq)) FILTER (is_alloc AND NOT is_before AND delta > 0), (SELECT first_seq - 1 FROM opening)) AS peak_seq,
    coalesce(arg_max(delta, seq), 0) AS end_delta_bytes,
    coalesce(sum(CASE WHEN is_alloc THEN size_bytes ELSE -size_bytes END) FILTER (is_before), 0) AS start_delta_bytes,
    coalesce(sum(size_bytes) FILTER (is_alloc AND next_seq IS NULL), 0) AS end_live_bytes,
    count(*) FILTER (is_alloc AND NOT is_before) AS allocs, count(*) FILTER (NOT is_alloc AND NOT is_before) AS frees,
    coalesce(sum(size_bytes) FILTER (is_alloc AND NOT is_before), 0) AS allocated_bytes,
    count(*) FILTER (NOT is_alloc AND NOT is_before AND held_bytes IS NULL) AS unmatched_frees,
    coalesce(sum(size_bytes) FILTER (NOT is_alloc AND NOT is_before AND held_bytes IS NULL), 0) AS unmatched_bytes
  FROM counted),
live AS (
  SELECT entry.stack_id, sum(entry.size_bytes)::BIGINT AS bytes, count(*) AS count, min(entry.seq) AS seq
  FROM entry, figures
  WHERE entry.is_alloc AND entry.seq <= figures.peak_seq AND (entry.next_seq IS NULL OR entry.next_seq > figures.peak_seq)
  GROUP BY entry.stack_id)
SELECT
  figures.peak_delta_bytes, figures.end_delta_bytes, figures.start_delta_bytes, figures.end_live_bytes, figures.allocs, figures.frees,
  figures.allocated_bytes, figures.unmatched_frees, figures.unmatched_bytes, live.stack_id, live.bytes, coalesce(live.count, 0) AS count
FROM figures LEFT JOIN live ON true
ORDER BY live.seq
