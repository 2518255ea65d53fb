-- @name   nsys.ranges_at
-- @title  NVTX ranges open at a moment, outermost first
-- @param  source_id INTEGER
-- @param  time_ns BIGINT
-- @param  pid INTEGER?  NULL: of every process
-- @col    pid         INTEGER?
-- @col    tid         INTEGER?
-- @col    thread      VARCHAR?
-- @col    type        VARCHAR
-- @col    domain_name VARCHAR?
-- @col    text        VARCHAR
-- @col    start_ns    BIGINT
-- @col    end_ns      BIGINT?
-- @why    The NVTX ranges of the program at that time, by thread.
SELECT ranges.pid, ranges.tid, thread.name AS thread, ranges.type::VARCHAR AS type, ranges.domain_name, ranges.text, ranges.start_ns,
  ranges.end_ns
FROM nsys_range AS ranges
LEFT JOIN (SELECT source_id, pid, tid, first(name) AS name FROM nsys_thread GROUP BY source_id, pid, tid) AS thread
  ON thread.source_id = ranges.source_id AND thread.pid = ranges.pid AND thread.tid = ranges.tid
WHERE ranges.source_id = $source_id AND ranges.text IS NOT NULL AND ranges.start_ns <= $time_ns
  AND (ranges.end_ns IS NULL OR ranges.end_ns > $time_ns)
  AND ($pid IS NULL OR ranges.pid = $pid)
ORDER BY ranges.pid, ranges.tid, ranges.start_ns, ranges.end_ns DESC NULLS FIRST, ranges.seq
