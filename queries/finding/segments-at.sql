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
-- @why    Segments with little live and much free are what fragmentation is made of. A cudaMalloc segment is its last segment_alloc; a
--         mapped run of an expandable one is the sum of all maps and unmaps, found by sweeping over their ends.
WITH changes AS (
  SELECT address::HUGEINT AS address, total_bytes, -1 AS seq, 1 AS sign, is_expandable = 1 AS is_expandable
  FROM derived_start_segment WHERE snapshot_id = $snapshot_id AND device = $device
  UNION ALL
  SELECT addr::HUGEINT, size_bytes, seq, CASE WHEN action IN ('segment_alloc', 'segment_map') THEN 1 ELSE -1 END,
    action IN ('segment_map', 'segment_unmap')
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND seq <= $at_seq AND action IN ('segment_alloc', 'segment_free', 'segment_map',
    'segment_unmap')),
plain AS (
  SELECT address, address + arg_max(total_bytes, seq) AS ends, FALSE AS is_expandable
  FROM changes WHERE NOT is_expandable GROUP BY address HAVING arg_max(sign, seq) = 1),
ends AS (
  SELECT address, sum(sign) AS step FROM (
    SELECT address, sign FROM changes WHERE is_expandable
    UNION ALL SELECT address + total_bytes, -sign FROM changes WHERE is_expandable)
  GROUP BY address HAVING sum(sign) <> 0),
swept AS (
  SELECT address, lead(address) OVER (ORDER BY address) AS ends, sum(step) OVER (ORDER BY address) AS depth FROM ends),
segments AS (
  SELECT address, ends, is_expandable FROM plain
  UNION ALL SELECT address, ends, TRUE FROM swept WHERE depth > 0 AND ends IS NOT NULL),
live AS (
  SELECT address::HUGEINT AS address, actual_bytes
  FROM allocation
  WHERE snapshot_id = $snapshot_id AND device = $device AND coalesce(alloc_seq, -1) <= $at_seq
    AND coalesce(free_completed_seq, 2147483647) > $at_seq),
held AS (
  SELECT segments.address, coalesce(sum(live.actual_bytes), 0) AS active_bytes, count(*) AS blocks
  FROM live ASOF JOIN segments ON live.address >= segments.address
  GROUP BY segments.address)
SELECT lower(to_hex(segments.address::UBIGINT)) AS address, (segments.ends - segments.address)::HUGEINT AS total_bytes,
  coalesce(held.active_bytes, 0)::HUGEINT AS active_bytes,
  (segments.ends - segments.address - coalesce(held.active_bytes, 0))::HUGEINT AS free_bytes, coalesce(held.blocks, 0) AS blocks,
  segments.is_expandable
FROM segments LEFT JOIN held USING (address)
ORDER BY free_bytes DESC, segments.address
