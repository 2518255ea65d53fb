-- @name   state.holes
-- @title  The largest free blocks inside the segments of a device after one entry of its trace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  count  INTEGER  at most so many
-- @col    address         UBIGINT
-- @col    bytes           BIGINT
-- @col    segment_address UBIGINT
-- @col    pool_id_a       BIGINT?
-- @col    pool_id_b       BIGINT?
-- @col    segment_type    VARCHAR
-- @col    stream          BIGINT?
-- @why    A hole behind a block of uncertain size may be smaller by what that block may be larger.
SELECT
  hole.address, hole.bytes, hole.segment_address, CASE WHEN hole.pool IS NULL THEN 0 ELSE pool.pool_id_a END AS pool_id_a,
  CASE WHEN hole.pool IS NULL THEN 0 ELSE pool.pool_id_b END AS pool_id_b, hole.segment_type::VARCHAR AS segment_type, hole.stream
FROM free_at($snapshot_id, $device, $at_seq) AS hole
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = hole.pool
ORDER BY hole.bytes DESC, hole.address
LIMIT $count
