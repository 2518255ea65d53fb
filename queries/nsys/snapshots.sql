-- @name   nsys.snapshots
-- @title  Memory snapshots of a run, by device, with the span of each recording; of several of a rank the last
-- @param  run_id INTEGER
-- @col    snapshot_id  INTEGER
-- @col    handle       VARCHAR
-- @col    rank         INTEGER?
-- @col    device       INTEGER
-- @col    first_us     BIGINT?  of the first entry; NULL without a trace or without times
-- @col    last_us      BIGINT?  of the last entry; NULL without a trace or without times
-- @why    Addresses of segments show which of them a process of a report belongs to. Of several dumps of a rank the last one is the most
--         complete.
SELECT snapshot.snapshot_id, snapshot.handle, snapshot.rank, device.device,
  (SELECT min(time_us) FROM event WHERE event.snapshot_id = snapshot.snapshot_id AND event.device = device.device) AS first_us,
  (SELECT max(time_us) FROM event WHERE event.snapshot_id = snapshot.snapshot_id AND event.device = device.device) AS last_us
FROM snapshot JOIN snapshot_device AS device USING (snapshot_id)
WHERE snapshot.run_id = $run_id AND device.segments > 0
QUALIFY snapshot.rank IS NULL OR row_number() OVER (PARTITION BY snapshot.rank, device.device
  ORDER BY last_us DESC NULLS LAST, snapshot.snapshot_id) = 1
ORDER BY snapshot.rank NULLS LAST, device.device, last_us DESC NULLS LAST, snapshot.snapshot_id
