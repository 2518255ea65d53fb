-- @name   verdict.traced_ooms
-- @title  The last OOM of every device of some runs, with the allocator just before it
-- @param  run_ids VARCHAR  joined by commas
-- @col    run_id              INTEGER
-- @of     oom_state: snapshot_id device seq requested_bytes segment_request_bytes stack_id uncertain_blocks uncertain_bytes
--         reserved_bytes allocated_bytes pending_bytes private_reserved_bytes freed_by_wait_bytes
-- @col    display_path        VARCHAR
-- @col    rank                INTEGER?
-- @col    entries             INTEGER  length of the device's trace
-- @col    device_free_bytes   BIGINT?
-- @col    expandable_segments BOOLEAN  by the settings; in a file without them, by mapped pages
-- @col    max_split_bytes     BIGINT?  NULL: unlimited
-- @col    has_settings        BOOLEAN  the snapshot contains the allocator's settings
-- @col    holds               BOOLEAN
-- @col    starts_empty        BOOLEAN
-- @col    violations          INTEGER
-- @col    oversize_slack_bytes BIGINT
-- @col    power2_rounding_bytes BIGINT?
-- @col    failure             BIGINT   within the run; failures without a trace come after these
-- @needs  oom_state
-- @why    Earlier OOM entries were survived. A dump is often kept twice (a copy, a later dump of the same process): one OOM is one
--         failure. Without a rank, equal OOMs may be of two ranks.
WITH mapped AS (
  SELECT DISTINCT snapshot_id, device
  FROM event
  WHERE action = 'segment_map' AND snapshot_id IN (SELECT snapshot_id FROM oom_state)
    AND snapshot_id NOT IN (SELECT snapshot_id FROM snapshot_setting)),
traced AS (
  SELECT
    snapshot.run_id, state.snapshot_id, source.display_path, snapshot.rank, state.device, state.seq,
    history.events AS entries, oom.requested_bytes, state.segment_request_bytes, oom.device_free_bytes, state.stack_id,
    coalesce(setting.is_expandable, mapped.snapshot_id IS NOT NULL) AS expandable_segments, history.max_split_bytes,
    setting.snapshot_id IS NOT NULL AS has_settings, history.holds, history.starts_empty, history.violations, state.uncertain_blocks,
    state.uncertain_bytes, state.reserved_bytes, state.allocated_bytes, state.pending_bytes, state.private_reserved_bytes,
    coalesce(rounding.oversize_slack_bytes, 0) AS oversize_slack_bytes, rounding.power2_rounding_bytes, state.freed_by_wait_bytes
  FROM oom_state AS state
  JOIN snapshot ON snapshot.snapshot_id = state.snapshot_id
  JOIN source ON source.source_id = snapshot.source_id
  JOIN trace_oom AS oom ON oom.snapshot_id = state.snapshot_id AND oom.device = state.device AND oom.seq = state.seq
  JOIN derived_history AS history ON history.snapshot_id = state.snapshot_id AND history.device = state.device
  LEFT JOIN (
    SELECT snapshot_id, bool_or(key = 'expandable_segments' AND lower(value) = 'true') AS is_expandable
    FROM snapshot_setting GROUP BY snapshot_id) AS setting ON setting.snapshot_id = state.snapshot_id
  LEFT JOIN mapped ON mapped.snapshot_id = state.snapshot_id AND mapped.device = state.device
  LEFT JOIN oom_rounding AS rounding ON rounding.snapshot_id = state.snapshot_id AND rounding.device = state.device
  WHERE list_contains(string_split($run_ids, ',')::INTEGER[], snapshot.run_id)
  QUALIFY snapshot.rank IS NULL OR row_number() OVER (
    PARTITION BY snapshot.run_id, snapshot.rank, state.device, state.seq, oom.requested_bytes, oom.device_free_bytes
    ORDER BY source.display_path, state.snapshot_id) = 1)
SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY rank NULLS FIRST, display_path, snapshot_id, device) - 1 AS failure
FROM traced
ORDER BY run_id, failure
