-- @name   peak.streams
-- @title  Streams of a snapshot in order of first appearance
-- @param  snapshot_id INTEGER
-- @col    stream BIGINT  the raw handle
-- @why    Handles are addresses that differ from run to run. memory_viz numbers them so: traces by device first, then segments; 0 is the
--         default stream.
WITH seen AS (
  SELECT stream, 0 AS part, device, min(seq) AS place FROM event WHERE snapshot_id = $snapshot_id AND stream IS NOT NULL
    GROUP BY stream, device
  UNION ALL
  SELECT stream, 1 AS part, 0 AS device, min(segment) AS place FROM segment WHERE snapshot_id = $snapshot_id AND stream IS NOT NULL
    GROUP BY stream
)
SELECT stream
FROM seen
GROUP BY stream
ORDER BY min((part, device, place))
