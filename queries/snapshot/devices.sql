-- @name   snapshot.devices
-- @title  What each device of a snapshot sums up to
-- @param  snapshot_id INTEGER
-- @of     snapshot_device: device segments blocks reserved_bytes allocated_bytes active_bytes inactive_bytes largest_inactive_block_bytes
--         events unmatched_free_bytes requested_delta_peak_seq invariants_hold
-- @col    start_anchored_bytes          BIGINT?  active minus the trace's net growth in requested bytes: for parity with other tools only
-- @col    peak_anchored_bytes           BIGINT?  that plus the largest prefix sum
-- @col    start_reserved_bytes          BIGINT?
-- @col    peak_reserved_bytes           BIGINT?
-- @col    first_action                  VARCHAR?
-- @why    States come from blocks and segments, never from the sizes in segment headers: one corpus file has wrong headers.
SELECT
  device, segments, blocks, reserved_bytes, allocated_bytes, active_bytes, inactive_bytes, largest_inactive_block_bytes, events,
  unmatched_free_bytes, active_bytes - requested_delta_bytes AS start_anchored_bytes,
  active_bytes - requested_delta_bytes + requested_delta_peak_bytes AS peak_anchored_bytes,
  requested_delta_peak_seq,
  reserved_bytes - reserved_delta_bytes AS start_reserved_bytes,
  reserved_bytes - reserved_delta_bytes + reserved_delta_peak_bytes AS peak_reserved_bytes,
  first_action::VARCHAR AS first_action,
  invariants_hold
FROM snapshot_device
WHERE snapshot_id = $snapshot_id
ORDER BY device
