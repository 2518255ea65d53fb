-- @name   diff.settings
-- @title  Allocator settings that differ between two sides
-- @param  left_side  VARCHAR
-- @param  right_side VARCHAR
-- @col    key VARCHAR
-- @col    a   VARCHAR?
-- @col    b   VARCHAR?
-- @why    As the compared snapshots recorded them.
SELECT key, left_value AS a, right_value AS b FROM diff_allocator($left_side, $right_side) AS changed ORDER BY place
