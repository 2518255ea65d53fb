-- @name   export.state_blocks
-- @title  Live and free blocks of a device after one entry of its trace as JSON text, without frames and their closing brace
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  from_address UBIGINT  first
-- @param  to_address   UBIGINT  one past the last
-- @col    address  UBIGINT
-- @col    stack_id INTEGER?
-- @col    is_freed BOOLEAN  only the stack of the free is known
-- @col    head     VARCHAR
-- @why    Nothing is requested of a free block.
SELECT
  address, stack_id, is_freed,
  concat('{"address":', address, ',"size":', bytes, ',"requested_size":', requested, ',"state":"', state, '"') AS head
FROM (
  SELECT address, stack_id, stack_origin = 'free_event' AS is_freed, actual_bytes AS bytes,
    coalesce(requested_bytes, actual_bytes) AS requested, state
  FROM live_at($snapshot_id, $device, $at_seq) AS live
  UNION ALL
  SELECT address, NULL, false, bytes, 0, 'inactive' FROM free_at($snapshot_id, $device, $at_seq) AS hole)
WHERE address >= $from_address AND address < $to_address
ORDER BY address
