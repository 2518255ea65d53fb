-- @name   library.device_pairs
-- @kind   macro
-- @title  Which snapshots and devices of two lists are compared
-- @param  left_list  VARCHAR  JSON list of rows of devices_of, in order of rank, then time
-- @param  right_list VARCHAR
-- @col    place             BIGINT  1: the pair that is compared in full
-- @col    left_rank         INTEGER?
-- @col    right_rank        INTEGER?
-- @col    left_handle       VARCHAR
-- @col    right_handle      VARCHAR
-- @col    left_snapshot_id  BIGINT
-- @col    right_snapshot_id BIGINT
-- @col    left_device       INTEGER
-- @col    right_device      INTEGER
-- @col    left_seq          INTEGER? peak_seq of the lists
-- @col    right_seq         INTEGER?
-- @why    The latest snapshot of every rank that both have, those without a rank by the names of their files; where they share none
--         and each has one, these two. Of devices one that ran out of memory is first, then one with traces, then the largest; where the
--         two share no device, the first of each. As JSON, since the two may be of two stores.
WITH listed AS (
  SELECT is_left, generate_subscripts(devices, 1) AS nth, unnest(devices, max_depth := 2)
  FROM (
    SELECT is_left, from_json(list::VARCHAR::JSON, '[{"snapshot_id": "BIGINT", "handle": "VARCHAR", "path": "VARCHAR",
      "rank": "INTEGER", "device": "INTEGER", "has_trace": "BOOLEAN", "reserved_bytes": "BIGINT", "ooms": "BIGINT",
      "peak_seq": "INTEGER"}]') AS devices
    FROM (VALUES (true, left_list), (false, right_list)) AS sides(is_left, list)) AS sides),
latest AS (
  SELECT *, min(nth) OVER keys AS key_place
  FROM (SELECT *, coalesce('rank ' || rank, parse_filename(path)) AS key FROM listed) AS named
  WINDOW keys AS (PARTITION BY is_left, key)
  QUALIFY snapshot_id = arg_max(snapshot_id, nth) OVER keys),
single AS (
  SELECT count(DISTINCT key) FILTER (is_left) = 1 AND count(DISTINCT key) FILTER (NOT is_left) = 1 AS is_single FROM latest),
pair AS (
  SELECT mine, theirs, mine.device = theirs.device AS is_same,
    row_number() OVER (PARTITION BY mine.snapshot_id, theirs.snapshot_id
      ORDER BY mine.device = theirs.device DESC, mine.ooms > 0 DESC, mine.has_trace DESC, mine.reserved_bytes DESC, mine.device,
        theirs.ooms > 0 DESC, theirs.has_trace DESC, theirs.reserved_bytes DESC, theirs.device) AS nth
  FROM latest AS mine
  JOIN latest AS theirs ON mine.is_left AND NOT theirs.is_left AND (mine.key = theirs.key OR (SELECT is_single FROM single)))
SELECT
  row_number() OVER (ORDER BY mine.key_place, mine.ooms + theirs.ooms > 0 DESC, mine.has_trace::INTEGER + theirs.has_trace::INTEGER DESC,
    mine.reserved_bytes + theirs.reserved_bytes DESC, mine.device) AS place,
  mine.rank AS left_rank, theirs.rank AS right_rank, mine.handle AS left_handle, theirs.handle AS right_handle,
  mine.snapshot_id AS left_snapshot_id, theirs.snapshot_id AS right_snapshot_id, mine.device AS left_device,
  theirs.device AS right_device, mine.peak_seq AS left_seq, theirs.peak_seq AS right_seq
FROM pair
WHERE is_same OR nth = 1
