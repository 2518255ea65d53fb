-- @name   state.pinning_sites
-- @title  What is live in some segments of a device after one entry of its trace, by call site
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER    -1 = before the first entry
-- @param  segments VARCHAR  their addresses, decimal, separated by commas
-- @param  most INTEGER      sites of each
-- @col    segment   UBIGINT
-- @col    site      VARCHAR? NULL: no stack, or one without frames
-- @col    has_stack BOOLEAN
-- @col    bytes     BIGINT
-- @col    count     BIGINT
-- @col    address   UBIGINT  of the first block
-- @col    alloc_seq INTEGER? its allocation
-- @why    A segment can only go back to the driver when these are freed.
WITH segment AS (SELECT address, total_bytes FROM segments_at($snapshot_id, $device, $at_seq)),
wanted AS (SELECT unnest(string_split($segments, ',')::UBIGINT[]) AS address),
placed AS (
  SELECT segment.address AS segment, live.address, live.alloc_seq, live.stack_id, live.actual_bytes
  FROM live_at($snapshot_id, $device, $at_seq) AS live ASOF JOIN segment ON live.address >= segment.address),
site_sum AS (
  SELECT placed.segment, nullif(stack.site, '') AS site, placed.stack_id IS NOT NULL AS has_stack,
    sum(placed.actual_bytes)::BIGINT AS bytes, count(*) AS count, min(placed.address) AS address,
    arg_min(placed.alloc_seq, placed.address) AS alloc_seq
  FROM placed
  LEFT JOIN stack ON stack.stack_id = placed.stack_id
  WHERE placed.segment IN (FROM wanted)
  GROUP BY ALL)
SELECT segment, site, has_stack, bytes, count, address, alloc_seq
FROM site_sum
QUALIFY row_number() OVER (PARTITION BY segment ORDER BY bytes DESC, address) <= $most
ORDER BY segment, bytes DESC, address
