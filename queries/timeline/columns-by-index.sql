-- @name   timeline.columns_by_index
-- @title  The course of a device's memory in equal numbers of entries
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  columns INTEGER  at most this many
-- @col    column_count        INTEGER  as many as asked for, or as there are rows
-- @col    column              INTEGER
-- @of     derived_bucket: first_seq last_seq first_time_us last_time_us allocated_min_bytes allocated_max_bytes active_min_bytes
--         active_max_bytes reserved_min_bytes reserved_max_bytes
-- @why    Least and most of each column are those of its rows, so a spike of a single entry is visible at every width.
WITH
  row AS (
    SELECT *, min(first_seq) OVER () AS from_seq, max(last_seq) OVER () AS to_seq, least($columns, count(*) OVER ()) AS target_columns
    FROM derived_bucket
    WHERE snapshot_id = $snapshot_id AND device = $device),
  row_columns AS (SELECT *, ((first_seq - from_seq)::BIGINT * target_columns) // (to_seq - from_seq + 1) AS place FROM row)
SELECT
  any_value(target_columns)::INTEGER AS column_count,
  place::INTEGER AS column,
  min(first_seq) AS first_seq,
  max(last_seq) AS last_seq,
  arg_min(first_time_us, first_seq) AS first_time_us,
  arg_max(last_time_us, first_seq) AS last_time_us,
  min(allocated_min_bytes) AS allocated_min_bytes,
  max(allocated_max_bytes) AS allocated_max_bytes,
  min(active_min_bytes) AS active_min_bytes,
  max(active_max_bytes) AS active_max_bytes,
  min(reserved_min_bytes) AS reserved_min_bytes,
  max(reserved_max_bytes) AS reserved_max_bytes
FROM row_columns
GROUP BY place
ORDER BY place
