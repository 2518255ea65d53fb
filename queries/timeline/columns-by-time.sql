-- @name   timeline.columns_by_time
-- @title  The course of a device's memory in equal slices of time
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  columns INTEGER
-- @col    column_count        INTEGER
-- @col    column              INTEGER
-- @col    first_seq           INTEGER? NULL in a slice without an entry
-- @col    last_seq            INTEGER?
-- @of     derived_bucket: first_time_us last_time_us allocated_min_bytes allocated_max_bytes active_min_bytes active_max_bytes
--         reserved_min_bytes reserved_max_bytes
-- @why    A device computes for long stretches without touching its allocator: memory then stays as the last entry left it. No rows at all
--         where an entry lacks a time.
WITH
  row AS (
    SELECT *, min(first_time_us) OVER () AS from_us, max(last_time_us) OVER () AS to_us, bool_or(first_time_us IS NULL) OVER () AS untimed
    FROM derived_bucket
    WHERE snapshot_id = $snapshot_id AND device = $device),
  row_columns AS (
    SELECT *, least($columns - 1, ((first_time_us - from_us)::HUGEINT * $columns) // (greatest(to_us,
      from_us) - from_us + 1))::INTEGER AS place
    FROM row
    WHERE NOT untimed),
  filled AS (
    SELECT
      place, min(first_seq) AS first_seq, max(last_seq) AS last_seq, min(first_time_us) AS first_time_us, max(last_time_us) AS last_time_us,
      min(allocated_min_bytes) AS allocated_min_bytes, max(allocated_max_bytes) AS allocated_max_bytes,
      min(active_min_bytes) AS active_min_bytes, max(active_max_bytes) AS active_max_bytes,
      min(reserved_min_bytes) AS reserved_min_bytes, max(reserved_max_bytes) AS reserved_max_bytes,
      arg_max(row(allocated_min_bytes, allocated_max_bytes, active_min_bytes, active_max_bytes, reserved_min_bytes, reserved_max_bytes),
        first_seq) AS held
    FROM row_columns
    GROUP BY place),
  slice AS (
    SELECT series.place AS place, filled.* EXCLUDE (place, held), last_value(held IGNORE NULLS) OVER (ORDER BY series.place) AS held
    FROM (SELECT unnest(range(0, $columns::BIGINT))::INTEGER AS place) AS series
    LEFT JOIN filled USING (place)
    WHERE EXISTS (FROM filled))
SELECT
  $columns::INTEGER AS column_count,
  place AS column,
  first_seq, last_seq, first_time_us, last_time_us,
  coalesce(allocated_min_bytes, held[1]) AS allocated_min_bytes,
  coalesce(allocated_max_bytes, held[2]) AS allocated_max_bytes,
  coalesce(active_min_bytes, held[3]) AS active_min_bytes,
  coalesce(active_max_bytes, held[4]) AS active_max_bytes,
  coalesce(reserved_min_bytes, held[5]) AS reserved_min_bytes,
  coalesce(reserved_max_bytes, held[6]) AS reserved_max_bytes
FROM slice
ORDER BY place
