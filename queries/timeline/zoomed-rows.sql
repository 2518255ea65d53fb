-- @name   timeline.zoomed_rows
-- @title  Rows as of derived_bucket, of a range of a trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  first_seq INTEGER
-- @param  last_seq INTEGER
-- @param  entries INTEGER  entries of a row; rows end at multiples of it
-- @param  cuts VARCHAR?    entries that end a row too: 3,9
-- @of     derived_bucket
-- @why    A range is shown finer than the rows of the whole trace. The first row includes the state before its first entry.
WITH start AS (
  SELECT $first_seq AS seq
  UNION SELECT unnest(range(($first_seq // $entries + 1) * $entries, $last_seq + 1, $entries))::INTEGER
  UNION SELECT cut + 1 FROM (SELECT unnest(string_split($cuts, ',')::INTEGER[]) AS cut) WHERE cut >= $first_seq AND cut < $last_seq),
total AS (SELECT * FROM totals_between($snapshot_id, $device, $first_seq - 1, $last_seq) AS total),
-- No ASOF joins: DuckDB compares all pairs where it expects few rows, as it does of unnest(), which took minutes.
entry AS (
  SELECT seq, max(start_seq) AS start_seq, max(allocated_bytes) AS allocated, max(active_bytes) AS active, max(reserved_bytes) AS reserved
  FROM (
    SELECT seq, NULL AS start_seq, allocated_bytes, active_bytes, reserved_bytes FROM total
    UNION ALL SELECT seq, seq, NULL, NULL, NULL FROM start)
  GROUP BY seq),
held AS (
  SELECT coalesce(max(start_seq) OVER entries, $first_seq) AS from_seq, last_value(allocated IGNORE NULLS) OVER entries AS allocated,
    last_value(active IGNORE NULLS) OVER entries AS active, last_value(reserved IGNORE NULLS) OVER entries AS reserved
  FROM entry
  WINDOW entries AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)),
row AS (
  SELECT from_seq, coalesce(lead(from_seq) OVER (ORDER BY from_seq), $last_seq + 1) - 1 AS to_seq, min(allocated) AS allocated_min,
    max(allocated) AS allocated_max, min(active) AS active_min, max(active) AS active_max, min(reserved) AS reserved_min,
    max(reserved) AS reserved_max
  FROM held GROUP BY from_seq),
clock AS (SELECT seq, time_us FROM event WHERE snapshot_id = $snapshot_id AND device = $device AND seq BETWEEN $first_seq AND $last_seq)
SELECT $snapshot_id AS snapshot_id, $device AS device, (row_number() OVER (ORDER BY row.from_seq) - 1)::INTEGER AS bucket,
  row.from_seq AS first_seq, row.to_seq AS last_seq, opening.time_us AS first_time_us, closing.time_us AS last_time_us,
  row.allocated_min::BIGINT AS allocated_min_bytes, row.allocated_max::BIGINT AS allocated_max_bytes,
  row.active_min::BIGINT AS active_min_bytes, row.active_max::BIGINT AS active_max_bytes,
  row.reserved_min::BIGINT AS reserved_min_bytes, row.reserved_max::BIGINT AS reserved_max_bytes
FROM row
LEFT JOIN clock AS opening ON opening.seq = row.from_seq
LEFT JOIN clock AS closing ON closing.seq = row.to_seq
ORDER BY bucket
