-- @name   library.diff_allocator
-- @kind   macro
-- @title  Allocator settings that differ between the compared snapshots of two runs
-- @param  left_run  VARCHAR  name of a run, handle of a snapshot, or a side in side_setting
-- @param  right_run VARCHAR
-- @col    key         VARCHAR
-- @col    left_value  VARCHAR? NULL: the snapshot does not record it
-- @col    right_value VARCHAR?
-- @col    place       BIGINT   in the order of the left snapshot, then of the right one
-- @why    The allocator's own record is effective where variables only ask.
WITH pair AS (SELECT * FROM diff_pair(left_run, right_run) AS chosen WHERE chosen.place = 1),
held AS (
  SELECT side = left_run AS is_left, side = right_run AS is_right, key, value, position
  FROM side_setting WHERE side IN (left_run, right_run)
  UNION ALL
  SELECT snapshot_id = left_snapshot_id, snapshot_id = right_snapshot_id, key, value, recorded.rowid
  FROM snapshot_setting AS recorded JOIN pair ON snapshot_id IN (left_snapshot_id, right_snapshot_id))
SELECT
  key, max(value) FILTER (is_left) AS left_value, max(value) FILTER (is_right) AS right_value,
  row_number() OVER (ORDER BY min(position) FILTER (is_left) NULLS LAST, min(position)) AS place
FROM held
GROUP BY key
HAVING left_value IS DISTINCT FROM right_value
