-- @name   nsys.ranges_of_group
-- @title  The ranges of one text on one thread, in order
-- @param  source_id INTEGER
-- @param  pid INTEGER?
-- @param  tid INTEGER?      NULL for ranges that belong to no thread
-- @param  type VARCHAR
-- @param  template VARCHAR  the text with # for each number
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT?
-- @col    text     VARCHAR
-- @why    The windows of training steps.
SELECT nvtx.start_ns, nvtx.end_ns, words.text
FROM nsys_nvtx AS nvtx JOIN nsys_text AS words ON words.source_id = nvtx.source_id AND words.text_id = nvtx.text_id
WHERE nvtx.source_id = $source_id AND nvtx.pid IS NOT DISTINCT FROM $pid AND ($tid IS NULL OR nvtx.tid = $tid)
  AND nvtx.type::VARCHAR = $type
  AND regexp_replace(words.text, '[0-9]+', '#', 'g') = $template
ORDER BY nvtx.start_ns, nvtx.end_ns
