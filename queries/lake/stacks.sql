-- @name    lake.stacks
-- @title   Live memory by stack at the peak of each device
-- @param   run VARCHAR   one run; empty: all
-- @default run
-- @param   rank BIGINT   one rank; -1: all
-- @default rank -1
-- @param   most BIGINT   number of rows
-- @default most 20
-- @col     site VARCHAR?             call site: the first frame past torch
-- @col     stack_id BIGINT?          the stack, as stack and stack_frame have it; NULL: not recorded
-- @col     runs BIGINT               runs that have it at a peak
-- @col     devices BIGINT            devices that have it at their peak
-- @col     blocks BIGINT             its blocks
-- @col     bytes DECIMAL(38,0)       of all devices, actual sizes
-- @col     device_bytes DECIMAL(38,0)  the most of one device
-- @why     The same stack has the same number in every run, so that one list covers any number of ranks.
WITH peak AS (
  SELECT run, snapshot_id, device, MAX(peak_seq) AS peak_seq
  FROM peak_component
  WHERE ($run = '' OR run = $run) AND ($rank < 0 OR rank = $rank)
  GROUP BY run, snapshot_id, device),
live AS (
  SELECT life.run AS run, life.snapshot_id AS snapshot_id, life.device AS device, life.stack_id AS stack_id,
    CAST(SUM(COALESCE(life.requested_bytes, 0) + life.excess_bytes) AS DECIMAL(38, 0)) AS bytes, COUNT(*) AS blocks
  FROM block_life AS life
  JOIN peak ON peak.run = life.run AND peak.snapshot_id = life.snapshot_id AND peak.device = life.device
  WHERE life.from_seq <= peak.peak_seq AND life.to_seq > peak.peak_seq AND ($run = '' OR life.run = $run)
    AND ($rank < 0 OR life.rank = $rank)
  GROUP BY life.run, life.snapshot_id, life.device, life.stack_id),
held AS (
  SELECT stack_id, COUNT(DISTINCT run) AS runs, COUNT(*) AS devices, CAST(SUM(blocks) AS BIGINT) AS blocks,
    CAST(SUM(bytes) AS DECIMAL(38, 0)) AS bytes, MAX(bytes) AS device_bytes
  FROM live
  GROUP BY stack_id),
called AS (
  SELECT stack_id, MIN(site) AS site FROM stack GROUP BY stack_id)
SELECT called.site AS site, held.stack_id AS stack_id, held.runs AS runs, held.devices AS devices, held.blocks AS blocks,
  held.bytes AS bytes, held.device_bytes AS device_bytes
FROM held
LEFT JOIN called ON called.stack_id = held.stack_id
ORDER BY bytes DESC NULLS LAST, stack_id ASC NULLS LAST
LIMIT $most
