-- @name   export.trace_entries
-- @title  Trace entries of one device as JSON text, without their frames and their closing brace
-- @param  snapshot_id INTEGER
-- @param  device   INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  one past the last
-- @col    stack_id INTEGER? NULL if the entry lacks the key frames
-- @col    head     VARCHAR
-- @why    A million entries are a million rows of one text, not a million objects; keys that the entry did not have are left out, as torch
--         leaves them out.
WITH entry AS (
  SELECT seq, action, addr, size_bytes, stream, time_us, pool, stack_id, compile_context_id, user_metadata_id
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq
),
extra AS (
  SELECT seq, max(value_json) FILTER (key = 'action') AS action_json, string_agg(to_json(key)::VARCHAR || ':' || value_json, ','
    ORDER BY key) FILTER (key <> 'action') AS other_keys
  FROM event_extra
  WHERE snapshot_id = $snapshot_id AND device = $device AND seq >= $from_seq AND seq < $to_seq
  GROUP BY seq
)
SELECT
  entry.stack_id,
  concat(
    '{"action":', CASE WHEN entry.action = 'other' THEN coalesce(extra.action_json, '"other"') ELSE '"' || entry.action::VARCHAR || '"' END,
    ',"addr":' || entry.addr,
    CASE WHEN entry.action = 'oom' THEN ',"device_free":' || oom.device_free_bytes END,
    ',"size":' || entry.size_bytes,
    ',"stream":' || entry.stream,
    ',"time_us":' || entry.time_us,
    ',"compile_context":' || to_json(context.text)::VARCHAR,
    ',"user_metadata":' || to_json(metadata.text)::VARCHAR,
    ',"pool_id":[' || pool.pool_id_a || ',' || pool.pool_id_b || ']',
    ',' || extra.other_keys
  ) AS head
FROM entry
LEFT JOIN extra USING (seq)
LEFT JOIN trace_oom AS oom ON oom.snapshot_id = $snapshot_id AND oom.device = $device AND oom.seq = entry.seq
LEFT JOIN snapshot_pool AS pool ON pool.snapshot_id = $snapshot_id AND pool.pool = entry.pool
LEFT JOIN text_value AS context ON context.text_id = entry.compile_context_id
LEFT JOIN text_value AS metadata ON metadata.text_id = entry.user_metadata_id
ORDER BY entry.seq
