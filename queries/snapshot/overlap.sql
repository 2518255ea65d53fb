-- @name   snapshot.overlap
-- @title  Whether the trace of a later snapshot begins inside that of an earlier one
-- @param  earlier      INTEGER  snapshot
-- @param  later        INTEGER  snapshot
-- @param  device       INTEGER
-- @param  tolerance_us BIGINT   by how much the two may disagree about the time of one entry
-- @param  candidates   INTEGER  entries of the earlier trace to try, the nearest in time first
-- @col    earlier_seq  INTEGER  the entry of the earlier trace that is the later trace's first
-- @col    compared     BIGINT   entries from there to the end of the earlier trace
-- @col    same         BIGINT   of these, equal in action, address and size to the later trace's
-- @col    skew_us      BIGINT   largest disagreement about the time
-- @why    Both are rings over one sequence, so that what they share is the end of one and the beginning of the other, entry for entry.
--         torch converts its clock anew at every dump, and the times of one entry differ by a microsecond or more between dumps: they
--         choose among candidates and prove nothing.
WITH
  first_entry AS (
    SELECT action, addr, size_bytes, time_us FROM event WHERE snapshot_id = $later AND device = $device AND seq = 0),
  start AS (
    SELECT event.seq
    FROM event
    JOIN first_entry ON event.action = first_entry.action AND event.addr IS NOT DISTINCT FROM first_entry.addr
      AND event.size_bytes = first_entry.size_bytes
    WHERE event.snapshot_id = $earlier AND event.device = $device AND abs(event.time_us - first_entry.time_us) <= $tolerance_us
    ORDER BY abs(event.time_us - first_entry.time_us), event.seq
    LIMIT $candidates)
SELECT
  start.seq AS earlier_seq, count(*) AS compared,
  count(*) FILTER (earlier.action = later.action AND earlier.addr IS NOT DISTINCT FROM later.addr
    AND earlier.size_bytes = later.size_bytes) AS same,
  coalesce(max(abs(earlier.time_us - later.time_us)), 0) AS skew_us
FROM start
JOIN event AS earlier ON earlier.snapshot_id = $earlier AND earlier.device = $device AND earlier.seq >= start.seq
LEFT JOIN event AS later ON later.snapshot_id = $later AND later.device = $device AND later.seq = earlier.seq - start.seq
GROUP BY start.seq
ORDER BY same = compared DESC, skew_us, start.seq
LIMIT 1
