-- @name   library.diff_pair
-- @kind   macro
-- @title  Which snapshots and devices of two runs are compared, at their peaks
-- @param  left_run  VARCHAR  name of a run, or handle of a snapshot
-- @param  right_run VARCHAR
-- @col    place             BIGINT  1: the pair that diff_component and the like compare
-- @col    left_rank         INTEGER?
-- @col    right_rank        INTEGER?
-- @col    left_handle       VARCHAR
-- @col    right_handle      VARCHAR
-- @col    left_snapshot_id  BIGINT
-- @col    right_snapshot_id BIGINT
-- @col    left_device       INTEGER
-- @col    right_device      INTEGER
-- @col    left_seq          INTEGER  entry after which most was active; -1 = before the first, or the dump without a trace
-- @col    right_seq         INTEGER
-- @why    The rule is that of device_pairs.
SELECT pairs.*
FROM device_pairs(
  (SELECT to_json(list(known ORDER BY coalesce(rank, -1), coalesce(last_time_us, -1), snapshot_id, device))
  FROM devices_of(left_run) AS known),
  (SELECT to_json(list(known ORDER BY coalesce(rank, -1), coalesce(last_time_us, -1), snapshot_id, device))
  FROM devices_of(right_run) AS known)) AS pairs
