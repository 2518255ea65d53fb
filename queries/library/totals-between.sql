-- @name   library.totals_between
-- @kind   macro
-- @title  Totals of a device after one entry of its trace, and after each later one that changes them
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  after_seq    INTEGER  the first row; -1 = before the first entry
-- @param  until_seq    INTEGER  the last entry
-- @col    seq             INTEGER
-- @col    allocated_bytes BIGINT  actual sizes
-- @col    active_bytes    BIGINT  with blocks whose free is pending
-- @col    reserved_bytes  BIGINT  segments
-- @why    Running sums over the ends of lifetimes, from the state after the first entry.
WITH change AS (
  SELECT after_seq AS seq, sum(actual_bytes) FILTER (pending_seq > after_seq) AS allocated, sum(actual_bytes) AS active, 0 AS reserved
  FROM block_life WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq <= after_seq AND to_seq > after_seq
  UNION ALL SELECT after_seq, 0, 0, sum(total_bytes)
  FROM segment_life WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq <= after_seq AND to_seq > after_seq
  UNION ALL SELECT from_seq, actual_bytes, actual_bytes, 0
  FROM block_life WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq > after_seq AND from_seq <= until_seq
  UNION ALL SELECT pending_seq, -actual_bytes, 0, 0
  FROM block_life
  WHERE snapshot_id = snapshot_key AND device = device_no AND pending_seq > after_seq AND pending_seq <= until_seq AND pending_seq < to_seq
  UNION ALL SELECT to_seq, CASE WHEN pending_seq < to_seq THEN 0 ELSE -actual_bytes END, -actual_bytes, 0
  FROM block_life WHERE snapshot_id = snapshot_key AND device = device_no AND to_seq > after_seq AND to_seq <= until_seq
  UNION ALL SELECT from_seq, 0, 0, total_bytes
  FROM segment_life WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq > after_seq AND from_seq <= until_seq
  UNION ALL SELECT to_seq, 0, 0, -total_bytes
  FROM segment_life WHERE snapshot_id = snapshot_key AND device = device_no AND to_seq > after_seq AND to_seq <= until_seq),
entry AS (SELECT seq, sum(allocated) AS allocated, sum(active) AS active, sum(reserved) AS reserved FROM change GROUP BY seq)
SELECT
  seq, (sum(allocated) OVER entries)::BIGINT AS allocated_bytes, (sum(active) OVER entries)::BIGINT AS active_bytes,
  (sum(reserved) OVER entries)::BIGINT AS reserved_bytes
FROM entry
WINDOW entries AS (ORDER BY seq ROWS UNBOUNDED PRECEDING)
