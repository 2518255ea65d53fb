-- @name   peak.moment_facts
-- @title  Reach of the trace: the time of an entry, and whether the ring lost the beginning
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  seq         INTEGER? the entry
-- @col    time_us        BIGINT?
-- @col    ring_truncated BOOLEAN
-- @why    What was allocated before a truncated trace may be of any age.
SELECT
  (SELECT time_us FROM event WHERE snapshot_id = $snapshot_id AND device = $device AND seq = $seq) AS time_us,
  EXISTS (
    SELECT 1 FROM ingest_note JOIN snapshot USING (source_id)
    WHERE snapshot.snapshot_id = $snapshot_id AND ingest_note.device = $device
      AND ingest_note.kind IN ('ring_truncated', 'ring_probably_truncated')
  ) AS ring_truncated
LIMIT 1
