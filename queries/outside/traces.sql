-- @name   outside.traces
-- @title  Recordings of allocators with times
-- @param  run_id INTEGER
-- @col    snapshot_id    INTEGER
-- @col    handle         VARCHAR
-- @col    rank           INTEGER?
-- @col    device         INTEGER
-- @col    first_us       BIGINT
-- @col    last_us        BIGINT
-- @col    peak_reserved_bytes BIGINT
-- @why    A sample within a trace can be held against the allocator's state of that very moment, not only against the lines that were
--         printed.
SELECT snapshot.snapshot_id, snapshot.handle, snapshot.rank, event.device, min(event.time_us) AS first_us, max(event.time_us) AS last_us,
  any_value(held.reserved_bytes - held.reserved_delta_bytes + held.reserved_delta_peak_bytes)::BIGINT AS peak_reserved_bytes
FROM snapshot JOIN event USING (snapshot_id) JOIN snapshot_device AS held ON held.snapshot_id = event.snapshot_id
  AND held.device = event.device
WHERE snapshot.run_id = $run_id AND event.time_us IS NOT NULL
GROUP BY snapshot.snapshot_id, snapshot.handle, snapshot.rank, event.device
HAVING max(event.time_us) > min(event.time_us)
ORDER BY snapshot.snapshot_id, event.device
