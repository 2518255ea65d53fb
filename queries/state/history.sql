-- @name   state.history
-- @title  What the walk over a device's trace found out
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @of     derived_history: events blocks holds starts_empty violations implied_completions requests_recorded
--         completions_recorded peak_active_bytes peak_active_seq peak_reserved_bytes peak_reserved_seq uncertain_blocks uncertain_bytes
--         bucket_entries steps_origin steps_annotations steps_annotations_device steps_without_entries pooled
-- @col    settings VARCHAR  of the allocator, as JSON: [[key, value], ...]
-- @col    pools    VARCHAR  [[pool, first, second number of its id], ...]
-- @why    Derived while ingesting: a walk over five million entries takes seconds.
SELECT
  history.events, history.blocks, history.holds, history.starts_empty, history.violations,
  history.implied_completions, history.requests_recorded, history.completions_recorded, history.peak_active_bytes,
  history.peak_active_seq, history.peak_reserved_bytes, history.peak_reserved_seq, history.uncertain_blocks, history.uncertain_bytes,
  history.bucket_entries, history.steps_origin, history.steps_annotations, history.steps_annotations_device,
  history.steps_without_entries, history.pooled, coalesce(setting.all, '[]') AS settings, coalesce(pool.all, '[]') AS pools
FROM derived_history AS history
CROSS JOIN (
  SELECT to_json(list([key, value] ORDER BY rowid))::VARCHAR AS all FROM snapshot_setting WHERE snapshot_id = $snapshot_id) AS setting
CROSS JOIN (
  SELECT to_json(list([pool, pool_id_a, pool_id_b] ORDER BY pool))::VARCHAR AS all FROM snapshot_pool
  WHERE snapshot_id = $snapshot_id) AS pool
WHERE history.snapshot_id = $snapshot_id AND history.device = $device
LIMIT 1
