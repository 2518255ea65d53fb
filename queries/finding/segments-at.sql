-- @name   finding.segments_at
-- @title  Segments after one entry of a trace, with what is live in each
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @col    address       VARCHAR  hexadecimal
-- @col    total_bytes   HUGEINT
-- @col    active_bytes  HUGEINT  actual sizes, pending frees included
-- @col    free_bytes    HUGEINT
-- @col    blocks        BIGINT
-- @col    is_expandable BOOLEAN  a mapped run
-- @why    Segments with little live and much free are what fragmentation is made of.
WITH extent AS (SELECT * FROM segments_at($snapshot_id, $device, $at_seq) AS extent),
live AS (SELECT * FROM live_at($snapshot_id, $device, $at_seq) AS live),
held AS (
  SELECT extent.address, sum(live.actual_bytes) AS active_bytes, count(*) AS blocks
  FROM live ASOF JOIN extent ON live.address >= extent.address
  GROUP BY extent.address)
SELECT lower(to_hex(extent.address)) AS address, extent.total_bytes::HUGEINT AS total_bytes,
  coalesce(held.active_bytes, 0)::HUGEINT AS active_bytes, (extent.total_bytes - coalesce(held.active_bytes, 0))::HUGEINT AS free_bytes,
  coalesce(held.blocks, 0) AS blocks, extent.is_expandable = 1 AS is_expandable
FROM extent LEFT JOIN held USING (address)
ORDER BY free_bytes DESC, extent.address
