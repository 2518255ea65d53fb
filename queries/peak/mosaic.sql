-- @name   peak.mosaic
-- @title  The peak of what the trace of a device allocates, and the different stacks of what is live there
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @col    peak_bytes  HUGEINT  requested
-- @col    peak_stacks BIGINT
-- @why    mosaic ignores frees of memory that was there before, and subtracts the size on the entry of the free. It does not
--         count entries without frames. Its key is file and line run together; names do not count.
WITH entry AS (
  SELECT seq, action = 'alloc' AS is_alloc, size_bytes, stack_id, lag(action) OVER at_address = 'alloc' AS is_held,
    lead(seq) OVER at_address AS next_seq
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('alloc', 'free_completed')
  WINDOW at_address AS (PARTITION BY addr ORDER BY seq)),
used AS (
  SELECT seq, sum(CASE WHEN is_alloc THEN size_bytes WHEN is_held THEN -size_bytes ELSE 0 END) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
    AS bytes
  FROM entry),
peak AS (SELECT max(bytes) AS bytes, arg_max(seq, (bytes, -seq)) AS seq FROM used WHERE bytes > 0),
live AS (
  SELECT DISTINCT entry.stack_id
  FROM entry, peak
  WHERE entry.is_alloc AND entry.stack_id IS NOT NULL AND entry.seq <= peak.seq AND (entry.next_seq IS NULL OR entry.next_seq > peak.seq)),
place AS (
  SELECT string_agg(frame.filename || frame.line, '' ORDER BY stack_frame.pos) AS places
  FROM live
  LEFT JOIN stack_frame ON stack_frame.stack_id = live.stack_id
  LEFT JOIN frame ON frame.frame_id = stack_frame.frame_id
  GROUP BY live.stack_id)
SELECT coalesce((SELECT bytes FROM peak), 0) AS peak_bytes, (SELECT count(DISTINCT coalesce(places, '')) FROM place) AS peak_stacks
LIMIT 1
