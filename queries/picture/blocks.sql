-- @name   picture.blocks
-- @title  The blocks of a device that a page draws
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  last_seq INTEGER   last entry of the trace
-- @param  least_area DOUBLE  bytes x entries of the smallest block that is drawn for its size
-- @param  first_1 INTEGER     three ranges of entries in which every live block is drawn: their first entries,
-- @param  last_1 INTEGER      and their last ones; below the first one: no range
-- @param  first_2 INTEGER
-- @param  last_2 INTEGER
-- @param  first_3 INTEGER
-- @param  last_3 INTEGER
-- @of     block_life: from_seq to_seq pending_seq address actual_bytes pool label stack_id
-- @why    A page of 2 MB cannot hold 10 million blocks. What is left out is smaller than a pixel of the whole trace. Ranges are parameters:
--         a join with a list of them took 2.4 s of 3.3 million blocks, these comparisons 0.14 s.
SELECT from_seq, to_seq, pending_seq, address, actual_bytes, pool, label, stack_id
FROM block_life
WHERE snapshot_id = $snapshot_id AND device = $device
  AND (actual_bytes::DOUBLE * (least(to_seq, $last_seq + 1) - greatest(from_seq, -1)) >= $least_area
    OR (from_seq <= $last_1 AND to_seq > $first_1 AND $last_1 >= $first_1)
    OR (from_seq <= $last_2 AND to_seq > $first_2 AND $last_2 >= $first_2)
    OR (from_seq <= $last_3 AND to_seq > $first_3 AND $last_3 >= $first_3))
ORDER BY from_seq, address
