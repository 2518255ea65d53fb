-- @name   export.extents
-- @title  How many segments and annotations a snapshot has
-- @param  snapshot_id INTEGER
-- @col    segments    BIGINT
-- @col    annotations BIGINT
-- @why    Both are read in windows.
SELECT
  (SELECT coalesce(max(segment) + 1, 0) FROM segment WHERE snapshot_id = $snapshot_id)::BIGINT AS segments,
  (SELECT coalesce(max(ordinal) + 1, 0) FROM annotation WHERE snapshot_id = $snapshot_id)::BIGINT AS annotations
LIMIT 1
