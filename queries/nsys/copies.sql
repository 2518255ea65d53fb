-- @name   nsys.copies
-- @title  Copies by direction and by the kinds of memory at both ends
-- @param  source_id INTEGER
-- @col    operation   VARCHAR
-- @col    direction   VARCHAR?
-- @col    source_kind VARCHAR?
-- @col    target_kind VARCHAR?
-- @col    count       BIGINT
-- @col    bytes       BIGINT
-- @col    busy_ns     BIGINT   union of their times on each device, added up over devices
-- @why    A copy from pageable memory is staged by the driver and blocks the host; one from pinned memory overlaps.
WITH ordered AS (
  SELECT *, max(end_ns) OVER (PARTITION BY pid, device, operation, copy_kind, source_kind, target_kind
    ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_end
  FROM nsys_copy WHERE source_id = $source_id)
SELECT operation::VARCHAR AS operation, copy_kind::VARCHAR AS direction, source_kind::VARCHAR AS source_kind,
  target_kind::VARCHAR AS target_kind, count(*) AS count, sum(bytes)::BIGINT AS bytes,
  sum(greatest(0, end_ns - greatest(start_ns, coalesce(before_end, start_ns))))::BIGINT AS busy_ns
FROM ordered GROUP BY 1, 2, 3, 4 ORDER BY bytes DESC, operation, direction, source_kind, target_kind
