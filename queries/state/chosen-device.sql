-- @name   state.chosen_device
-- @title  Which snapshot and device a question about one allocator means, where the operand names several
-- @param  run_id INTEGER?
-- @param  handle VARCHAR?
-- @param  asked_device INTEGER?  only this one
-- @param  wants_oom BOOLEAN  the question is about an OOM
-- @uses   snapshot.list
-- @col    snapshot_id INTEGER
-- @col    source_id   INTEGER
-- @col    handle      VARCHAR
-- @col    path        VARCHAR
-- @col    rank        INTEGER?
-- @col    device      INTEGER
-- @col    others      BIGINT   other snapshots that the operand names
-- @why    For an OOM the first rank with one; else the first rank, and its snapshot with the longest trace, then the most live memory. Of
--         it the device that ran out, else the one with most live memory: at the peak of its trace, or at the dump.
WITH place AS (
  SELECT *, row_number() OVER names AS nth, first_value(rank) OVER names AS first_rank, count(*) OVER () - 1 AS others
  FROM list
  WINDOW names AS (ORDER BY run, rank NULLS FIRST, display_path, snapshot_id)),
candidate AS (
  SELECT place.*, device.device, device.segments, device.events, device.reserved_bytes,
    coalesce(device.active_bytes - device.requested_delta_bytes + device.requested_delta_peak_bytes, device.active_bytes) AS live_bytes,
    max(coalesce(device.events, 0)) OVER of_snapshot AS longest, max(live_bytes) OVER of_snapshot AS most_live_bytes,
    EXISTS (FROM trace_oom AS oom WHERE oom.snapshot_id = device.snapshot_id AND oom.device = device.device) AS ran_out
  FROM place
  JOIN snapshot_device AS device ON device.snapshot_id = place.snapshot_id
  WINDOW of_snapshot AS (PARTITION BY place.snapshot_id))
SELECT snapshot_id, source_id, handle, display_path AS path, rank, device, others
FROM candidate
WHERE ($asked_device IS NULL OR device = $asked_device) AND (segments <> 0 OR events IS NOT NULL)
ORDER BY $wants_oom AND ran_out DESC, rank IS NOT DISTINCT FROM first_rank DESC, longest DESC, most_live_bytes DESC, nth, ran_out DESC,
  live_bytes DESC, coalesce(events, 0) DESC, reserved_bytes DESC, device
LIMIT 1
