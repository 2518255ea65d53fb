-- @name   export.state_segments
-- @title  Segments of a device after one entry of its trace as JSON text, without frames, blocks and their closing brace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    address     UBIGINT
-- @col    end_address UBIGINT
-- @col    head        VARCHAR
-- @why    Readers subtract the requested size to show what rounding costs: where it is unknown, they must find nothing.
WITH segment AS (SELECT * FROM segments_at($snapshot_id, $device, $at_seq)),
live AS (
  SELECT address, actual_bytes, coalesce(requested_bytes, actual_bytes) AS requested, state FROM live_at($snapshot_id, $device, $at_seq)),
held AS (
  SELECT segment.address, sum(live.actual_bytes) FILTER (live.state = 'active_allocated') AS allocated, sum(live.actual_bytes) AS active,
    sum(live.requested) AS requested
  FROM live ASOF JOIN segment ON live.address >= segment.address
  GROUP BY segment.address)
SELECT
  segment.address, segment.address + segment.total_bytes::UBIGINT AS end_address,
  concat(
    '{"device":', $device, ',"address":', segment.address, ',"total_size":', segment.total_bytes,
    ',"allocated_size":', coalesce(held.allocated, 0), ',"active_size":', coalesce(held.active, 0),
    ',"requested_size":', coalesce(held.requested, 0), ',"stream":' || segment.stream,
    ',"segment_type":"', CASE segment.segment_type WHEN 'small' THEN 'small' ELSE 'large' END, '"',
    CASE WHEN segment.pool IS NULL THEN ',"segment_pool_id":[0,0]'
      ELSE ',"segment_pool_id":[' || pool.pool_id_a || ',' || pool.pool_id_b || ']' END,
    ',"is_expandable":', CASE segment.is_expandable WHEN 1 THEN 'true' ELSE 'false' END
  ) AS head
FROM segment
LEFT JOIN held ON held.address = segment.address
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = segment.pool
ORDER BY segment.address
