-- @name    lake.pins
-- @title   Stacks whose blocks keep free memory from going back to the driver, in several runs
-- @param   runs BIGINT   in at least so many runs
-- @default runs 2
-- @param   run VARCHAR   one run; empty: all
-- @default run
-- @col     site VARCHAR?             call site: the first frame past torch
-- @col     stack_id BIGINT           the stack, as stack and stack_frame have it
-- @col     runs BIGINT               runs in which it does
-- @col     snapshots BIGINT          their snapshots with an OOM
-- @col     segments BIGINT           segments with free memory that its blocks are in
-- @col     free_bytes DECIMAL(38,0)  free in these segments
-- @col     blocks BIGINT             its live blocks there
-- @col     live_bytes DECIMAL(38,0)  their actual sizes
-- @why     A segment goes back to the driver only when all of it is free. A block is in the last segment that begins at its address or
--          below: a running maximum finds it, as a join by ranges compares all pairs.
WITH segment_free AS (
  SELECT run, snapshot_id, device, seq, segment_address, MAX(segment_bytes) AS segment_bytes,
    CAST(SUM(bytes) AS DECIMAL(38, 0)) AS free_bytes
  FROM oom_hole
  WHERE $run = '' OR run = $run
  GROUP BY run, snapshot_id, device, seq, segment_address),
moment AS (
  SELECT run, snapshot_id, device, MAX(seq) AS seq FROM segment_free GROUP BY run, snapshot_id, device),
mark AS (
  SELECT run, snapshot_id, device, segment_address AS address, segment_address AS starts_at, 0 AS is_block,
    CAST(0 AS BIGINT) AS stack_id, CAST(0 AS BIGINT) AS bytes
  FROM segment_free
  UNION ALL
  SELECT life.run AS run, life.snapshot_id AS snapshot_id, life.device AS device, life.address AS address,
    CAST(NULL AS BIGINT) AS starts_at, 1 AS is_block, life.stack_id AS stack_id,
    COALESCE(life.requested_bytes, 0) + life.excess_bytes AS bytes
  FROM block_life AS life
  JOIN moment ON moment.run = life.run AND moment.snapshot_id = life.snapshot_id AND moment.device = life.device
  WHERE life.from_seq <= moment.seq AND life.to_seq > moment.seq AND life.stack_id IS NOT NULL),
placed AS (
  SELECT run, snapshot_id, device, address, is_block, stack_id, bytes,
    MAX(starts_at) OVER (PARTITION BY run, snapshot_id, device ORDER BY address ASC NULLS LAST, is_block ASC NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS segment_address
  FROM mark),
pin AS (
  SELECT placed.run AS run, placed.snapshot_id AS snapshot_id, placed.device AS device, placed.segment_address AS segment_address,
    placed.stack_id AS stack_id, MAX(segment_free.free_bytes) AS free_bytes, COUNT(*) AS blocks,
    CAST(SUM(placed.bytes) AS DECIMAL(38, 0)) AS live_bytes
  FROM placed
  JOIN segment_free ON segment_free.run = placed.run AND segment_free.snapshot_id = placed.snapshot_id
    AND segment_free.device = placed.device AND segment_free.segment_address = placed.segment_address
  WHERE placed.is_block = 1 AND placed.address < segment_free.segment_address + segment_free.segment_bytes
  GROUP BY placed.run, placed.snapshot_id, placed.device, placed.segment_address, placed.stack_id),
pinning AS (
  SELECT stack_id, COUNT(DISTINCT run) AS runs, COUNT(DISTINCT snapshot_id) AS snapshots, COUNT(*) AS segments,
    CAST(SUM(free_bytes) AS DECIMAL(38, 0)) AS free_bytes, CAST(SUM(blocks) AS BIGINT) AS blocks,
    CAST(SUM(live_bytes) AS DECIMAL(38, 0)) AS live_bytes
  FROM pin
  GROUP BY stack_id),
called AS (
  SELECT stack_id, MIN(site) AS site FROM stack GROUP BY stack_id)
SELECT called.site AS site, pinning.stack_id AS stack_id, pinning.runs AS runs, pinning.snapshots AS snapshots,
  pinning.segments AS segments, pinning.free_bytes AS free_bytes, pinning.blocks AS blocks, pinning.live_bytes AS live_bytes
FROM pinning
LEFT JOIN called ON called.stack_id = pinning.stack_id
WHERE pinning.runs >= $runs
ORDER BY runs DESC NULLS LAST, free_bytes DESC NULLS LAST, stack_id ASC NULLS LAST
