-- @name   peak.texts
-- @title  Live memory of a device after one entry of its trace, by a text of the allocation and lifetime
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  kind VARCHAR  compile: the compile context; metadata: user metadata
-- @col    before_trace BOOLEAN  allocated before the first entry
-- @col    text         VARCHAR? NULL: not recorded
-- @col    lifetime     VARCHAR? resident, transient or unknown; see lifetimes_at
-- @col    bytes        BIGINT
-- @col    count        BIGINT
-- @why    Compile contexts and metadata are few; the blocks that name them are many.
WITH live AS (
  SELECT alloc_seq IS NULL AS before_trace, CASE $kind WHEN 'compile' THEN compile_context_id ELSE user_metadata_id END AS text_id,
    lifetime, sum(actual_bytes)::BIGINT AS bytes, count(*) AS count
  FROM lifetimes_at($snapshot_id, $device, $at_seq)
  GROUP BY ALL)
SELECT live.before_trace, text_value.text, live.lifetime, live.bytes, live.count
FROM live
LEFT JOIN text_value ON text_value.text_id = live.text_id
ORDER BY live.bytes DESC, live.before_trace, text_value.text, live.lifetime
