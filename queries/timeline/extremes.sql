-- @name   timeline.extremes
-- @title  The span of the timeline of a device, its maxima, and where each was first reached
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    first_seq               INTEGER
-- @col    last_seq                INTEGER
-- @col    first_time_us           BIGINT?
-- @col    last_time_us            BIGINT?
-- @col    entries_per_row         INTEGER  the most entries a row summarises
-- @col    active_max_bytes        BIGINT
-- @col    active_max_first_seq    INTEGER  the row that first reaches it
-- @col    active_max_last_seq     INTEGER
-- @col    active_max_time_us      BIGINT?  first time of that row
-- @col    reserved_max_bytes      BIGINT
-- @col    reserved_max_first_seq  INTEGER
-- @col    reserved_max_last_seq   INTEGER
-- @col    reserved_max_time_us    BIGINT?
-- @why    Peaks of training repeat exactly each step, and arg_max would pick another one with another number of threads.
WITH
  row AS (
    SELECT *, max(active_max_bytes) OVER () AS active_peak, max(reserved_max_bytes) OVER () AS reserved_peak
    FROM derived_bucket
    WHERE snapshot_id = $snapshot_id AND device = $device)
SELECT
  min(first_seq) AS first_seq,
  max(last_seq) AS last_seq,
  arg_min(first_time_us, first_seq) AS first_time_us,
  arg_max(last_time_us, first_seq) AS last_time_us,
  max(last_seq - first_seq + 1) AS entries_per_row,
  any_value(active_peak) AS active_max_bytes,
  min(first_seq) FILTER (active_max_bytes = active_peak) AS active_max_first_seq,
  min(last_seq) FILTER (active_max_bytes = active_peak) AS active_max_last_seq,
  arg_min(first_time_us, first_seq) FILTER (active_max_bytes = active_peak) AS active_max_time_us,
  any_value(reserved_peak) AS reserved_max_bytes,
  min(first_seq) FILTER (reserved_max_bytes = reserved_peak) AS reserved_max_first_seq,
  min(last_seq) FILTER (reserved_max_bytes = reserved_peak) AS reserved_max_last_seq,
  arg_min(first_time_us, first_seq) FILTER (reserved_max_bytes = reserved_peak) AS reserved_max_time_us
FROM row
HAVING count(*) > 0
ORDER BY first_seq
