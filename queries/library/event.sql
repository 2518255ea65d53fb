-- @name   library.event
-- @kind   view
-- @title  Every entry of the traces
-- @of     trace_entry: snapshot_id device seq action addr size_bytes stream time_us pool stack_id compile_context_id
--         user_metadata_id
-- @why    Lifetimes are the storage: a row of block_life restores its allocation and its free, for a third of the rows. Whatever differs
--         from that is a trace_entry. seq orders them; a query without ORDER BY gets them in no order.
SELECT snapshot_id, device, from_seq AS seq, 'alloc'::trace_action AS action, address AS addr, requested_bytes AS size_bytes, stream,
  alloc_us AS time_us, CASE WHEN entries >= 8 THEN pool END AS pool, CASE WHEN stack_origin = 'alloc_event' THEN stack_id END AS stack_id,
  compile_context_id, user_metadata_id
FROM block_life
WHERE entries & 1 = 1
UNION ALL
SELECT snapshot_id, device, pending_seq, 'free_requested'::trace_action, address, requested_bytes, stream, request_us,
  CASE WHEN entries >= 8 THEN pool END, free_stack_id, compile_context_id, user_metadata_id
FROM block_life
WHERE entries & 2 = 2
UNION ALL
SELECT snapshot_id, device, to_seq, 'free_completed'::trace_action, address, requested_bytes, stream, free_us,
  CASE WHEN entries >= 8 THEN pool END, free_stack_id, compile_context_id, user_metadata_id
FROM block_life
WHERE entries & 4 = 4
UNION ALL
SELECT snapshot_id, device, seq, action, addr, size_bytes, stream, time_us, pool, stack_id, compile_context_id, user_metadata_id
FROM trace_entry
