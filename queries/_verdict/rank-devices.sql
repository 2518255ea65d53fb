-- @name   _verdict.rank_devices
-- @title  The own device of every snapshot of a run: what it holds at the dump, and the largest sums of its trace
-- @param  run_id INTEGER
-- @col    snapshot_id         INTEGER
-- @col    device              INTEGER
-- @col    reserved_bytes      BIGINT   at the dump
-- @col    active_bytes        BIGINT   at the dump
-- @col    peak_active_bytes   BIGINT?  of the trace, actual sizes; NULL without one
-- @col    peak_active_seq     INTEGER? NULL: before the first entry
-- @col    peak_reserved_bytes BIGINT?
-- @why    A process may hold a little memory on other devices; its own device is the one it holds most of. One query for all ranks: a
--         question for each of a thousand takes seconds.
SELECT device.snapshot_id, device.device, device.reserved_bytes, device.active_bytes,
  CASE WHEN device.events IS NOT NULL THEN history.peak_active_bytes END AS peak_active_bytes, history.peak_active_seq,
  CASE WHEN device.events IS NOT NULL THEN history.peak_reserved_bytes END AS peak_reserved_bytes
FROM snapshot_device AS device
JOIN snapshot ON snapshot.snapshot_id = device.snapshot_id
LEFT JOIN derived_history AS history ON history.snapshot_id = device.snapshot_id AND history.device = device.device
WHERE snapshot.run_id = $run_id
QUALIFY row_number() OVER (PARTITION BY device.snapshot_id ORDER BY device.reserved_bytes DESC, device.device) = 1
ORDER BY device.snapshot_id
