-- @name   nsys.allocations
-- @title  Allocations of the driver, with the call, the thread and the library call that made each
-- @param  source_id INTEGER
-- @of     nsys_allocation: pid device bytes alloc_ns free_ns fate origin
-- @col    kind        VARCHAR
-- @col    address     BIGINT
-- @col    pc          BIGINT?
-- @col    name        VARCHAR? of a static variable
-- @col    pool_address BIGINT?
-- @col    api         VARCHAR?
-- @col    api_ns      BIGINT?
-- @col    tid         INTEGER?
-- @col    thread      VARCHAR?
-- @col    library     VARCHAR? innermost traced library call around it
-- @col    library_call VARCHAR?
-- @col    modules     VARCHAR? modules of its call chain, innermost first; of the call that freed it where that is all there is
-- @why    Correlation numbers are of a process: two processes use the same ones.
WITH call AS (
  SELECT pid, correlation, arg_min(api, start_ns) AS api, min(start_ns) AS start_ns, arg_min(tid, start_ns) AS tid,
    arg_min(callchain, start_ns) AS callchain
  FROM nsys_call
  WHERE source_id = $source_id AND correlation > 0 AND (pid, correlation) IN (SELECT (pid, coalesce(correlation, free_correlation))
    FROM nsys_allocation WHERE source_id = $source_id)
  GROUP BY pid, correlation),
thread AS (SELECT pid, tid, first(name) AS name FROM nsys_thread WHERE source_id = $source_id GROUP BY pid, tid),
chain AS (
  SELECT frame.callchain, string_agg(module.text, chr(10) ORDER BY frame.depth) AS modules
  FROM nsys_frame AS frame JOIN nsys_text AS module ON module.source_id = frame.source_id AND module.text_id = frame.module_id
  WHERE frame.source_id = $source_id AND frame.callchain IN (SELECT callchain FROM call) GROUP BY frame.callchain),
library AS (
  SELECT call.pid, call.correlation, arg_max(library.library::VARCHAR, library.start_ns) AS library,
    arg_max(words.text, library.start_ns) AS name
  FROM call JOIN nsys_library AS library ON library.source_id = $source_id AND library.pid = call.pid AND library.tid = call.tid
    AND library.start_ns <= call.start_ns AND library.end_ns >= call.start_ns
  LEFT JOIN nsys_text AS words ON words.source_id = $source_id AND words.text_id = library.name_id
  GROUP BY call.pid, call.correlation)
SELECT block.pid, block.device, block.kind::VARCHAR AS kind, block.address::BIGINT AS address, block.bytes, block.alloc_ns, block.free_ns,
  block.fate, block.origin, block.pc::BIGINT AS pc, words.text AS name, block.pool_address::BIGINT AS pool_address, call.api,
  call.start_ns AS api_ns, call.tid, thread.name AS thread, library.library, library.name AS library_call, chain.modules
FROM nsys_allocation AS block
LEFT JOIN call ON call.pid = block.pid AND call.correlation = block.correlation
LEFT JOIN thread ON thread.pid = call.pid AND thread.tid = call.tid
LEFT JOIN call AS release ON block.correlation IS NULL AND release.pid = block.pid AND release.correlation = block.free_correlation
LEFT JOIN chain ON chain.callchain = coalesce(call.callchain, release.callchain)
LEFT JOIN library ON library.pid = call.pid AND library.correlation = call.correlation
LEFT JOIN nsys_text AS words ON words.source_id = block.source_id AND words.text_id = block.name_id
WHERE block.source_id = $source_id
ORDER BY block.pid, block.alloc_ns NULLS FIRST, block.seq
