-- @name   verdict.copied_bytes
-- @title  Live blocks of some stacks that are as large as a live block of another stack
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  stack_ids VARCHAR ids joined by commas
-- @param  least_bytes BIGINT smaller blocks match by accident
-- @col    bytes BIGINT  actual sizes
-- @why    Second copies, made for a checkpoint. Each other block is the original of one copy only.
WITH live AS (
  SELECT address, requested_bytes, actual_bytes,
    coalesce(stack_id IN (SELECT CAST(unnest(string_split($stack_ids, ',')) AS INTEGER)), false) AS is_chosen
  FROM live_at($snapshot_id, $device, $at_seq) AS live),
original AS (
  SELECT requested_bytes, count(*) AS blocks FROM live WHERE NOT is_chosen AND requested_bytes >= $least_bytes GROUP BY requested_bytes),
chosen AS (
  SELECT requested_bytes, actual_bytes, row_number() OVER (PARTITION BY requested_bytes ORDER BY address) AS nth FROM live WHERE is_chosen)
SELECT coalesce(sum(chosen.actual_bytes), 0)::BIGINT AS bytes
FROM chosen JOIN original ON original.requested_bytes = chosen.requested_bytes AND chosen.nth <= original.blocks
LIMIT 1
