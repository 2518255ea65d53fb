-- @name   timeline.flushes
-- @title  Runs of segments given back to the driver
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  from_seq INTEGER  first
-- @param  to_seq   INTEGER  last
-- @param  most INTEGER  the largest ones only
-- @col    flush_count  BIGINT  all of them
-- @col    flush_bytes  BIGINT
-- @col    first_seq    INTEGER
-- @col    last_seq     INTEGER
-- @col    time_us      BIGINT? of the first entry
-- @col    segments     BIGINT  segments, or mapped pages of expandable ones
-- @col    bytes        BIGINT
-- @why    The allocator releases segments only under pressure or on request, and then as many as possible in a row. Each flush costs a
--         synchronisation of the device, and many of them mean that the run is at its memory limit.
WITH
  gone AS (
    SELECT seq, time_us, size_bytes, seq - row_number() OVER (ORDER BY seq) AS island
    FROM event
    WHERE snapshot_id = $snapshot_id AND device = $device AND seq BETWEEN $from_seq AND $to_seq
      AND action IN ('segment_free', 'segment_unmap')),
  flush AS (
    SELECT min(seq) AS first_seq, max(seq) AS last_seq, arg_min(time_us, seq) AS time_us, count(*) AS segments,
      sum(size_bytes)::BIGINT AS bytes
    FROM gone
    GROUP BY island),
  ranked AS (
    SELECT *, count(*) OVER () AS flush_count, (sum(bytes) OVER ())::BIGINT AS flush_bytes,
      row_number() OVER (ORDER BY bytes DESC, first_seq) AS nth FROM flush)
SELECT flush_count, flush_bytes, first_seq, last_seq, time_us, segments, bytes
FROM ranked
WHERE nth <= $most
ORDER BY first_seq
