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
-- @col    left_snapshot_id  INTEGER
-- @col    right_snapshot_id INTEGER
-- @col    left_device       INTEGER
-- @col    right_device      INTEGER
-- @col    left_seq          INTEGER  entry after which most was active; -1 = before the first, or the dump without a trace
-- @col    right_seq         INTEGER
-- @why    The latest snapshot of every rank that both have, those without a rank by the names of their files; where they have none in
--         common and each has one, these two. Of devices one that ran out of memory is first, then one with traces, then the largest.
WITH left_latest AS (
  SELECT * FROM devices_of(left_run) AS known
  QUALIFY dense_rank() OVER (
    PARTITION BY known.rank, CASE WHEN known.rank IS NULL THEN parse_filename(known.path) END
    ORDER BY coalesce(last_time_us, -1) DESC, snapshot_id DESC) = 1),
right_latest AS (
  SELECT * FROM devices_of(right_run) AS known
  QUALIFY dense_rank() OVER (
    PARTITION BY known.rank, CASE WHEN known.rank IS NULL THEN parse_filename(known.path) END
    ORDER BY coalesce(last_time_us, -1) DESC, snapshot_id DESC) = 1),
single AS (
  SELECT (SELECT count(DISTINCT snapshot_id) FROM left_latest) = 1
    AND (SELECT count(DISTINCT snapshot_id) FROM right_latest) = 1 AS is_single),
pair AS (
  SELECT left_side, right_side, left_side.device = right_side.device AS is_same,
    row_number() OVER (PARTITION BY left_side.snapshot_id, right_side.snapshot_id
      ORDER BY left_side.device = right_side.device DESC, left_side.ooms > 0 DESC, left_side.has_trace DESC,
        left_side.reserved_bytes DESC, left_side.device, right_side.ooms > 0 DESC, right_side.has_trace DESC,
        right_side.reserved_bytes DESC, right_side.device) AS nth
  FROM left_latest AS left_side
  JOIN right_latest AS right_side
    ON left_side.rank = right_side.rank
      OR left_side.rank IS NULL AND right_side.rank IS NULL AND parse_filename(left_side.path) = parse_filename(right_side.path)
      OR (SELECT is_single FROM single))
SELECT
  row_number() OVER (ORDER BY left_side.rank NULLS FIRST, left_side.ooms + right_side.ooms > 0 DESC,
    left_side.has_trace::INTEGER + right_side.has_trace::INTEGER DESC, left_side.reserved_bytes + right_side.reserved_bytes DESC,
    left_side.device) AS place,
  left_side.rank AS left_rank, right_side.rank AS right_rank, left_side.handle AS left_handle, right_side.handle AS right_handle,
  left_side.snapshot_id AS left_snapshot_id, right_side.snapshot_id AS right_snapshot_id, left_side.device AS left_device,
  right_side.device AS right_device, left_side.peak_seq AS left_seq, right_side.peak_seq AS right_seq
FROM pair
WHERE is_same OR nth = 1
