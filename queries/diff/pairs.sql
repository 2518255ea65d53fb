-- @name   diff.pairs
-- @title  Which snapshots and devices of two sides are compared, the first in full
-- @param  left  VARCHAR  JSON list of what diff.candidates has
-- @param  right VARCHAR
-- @col    a        BIGINT   snapshot_id
-- @col    b        BIGINT
-- @col    a_device INTEGER
-- @col    b_device INTEGER
-- @why    device_pairs of the library, in order: it reads no table, since the sides may be of two stores.
SELECT left_snapshot_id AS a, right_snapshot_id AS b, left_device AS a_device, right_device AS b_device
FROM device_pairs($left, $right) AS pairs
ORDER BY place
