-- @name   library.devices_of
-- @kind   macro
-- @title  The devices with memory or a trace in the snapshots of a run
-- @param  operand VARCHAR  name of a run, or handle of a snapshot
-- @col    run            VARCHAR
-- @col    rank           INTEGER?
-- @col    handle         VARCHAR
-- @col    path           VARCHAR  file, relative to the run
-- @col    snapshot_id    INTEGER
-- @col    device         INTEGER
-- @col    peak_seq       INTEGER  entry after which most was active; -1 = before the first, or the dump without a trace
-- @col    has_trace      BOOLEAN
-- @col    reserved_bytes BIGINT   at most, over the trace
-- @col    ooms           BIGINT   oom entries of its trace
-- @col    last_time_us   BIGINT?  of the snapshot, Unix epoch; NULL where no entry has a time
-- @why    What a comparison chooses from: of several snapshots of a rank the latest is compared, and a snapshot does not contain its time.
WITH named AS (
  SELECT snapshot.snapshot_id, snapshot.source_id, run.name AS run, snapshot.rank, snapshot.handle
  FROM snapshot JOIN run ON run.run_id = snapshot.run_id
  WHERE (run.name = operand OR snapshot.handle = operand) AND NOT EXISTS (SELECT 1 FROM side_stack WHERE side = operand)),
last_entry AS (
  SELECT snapshot_id, max(time_us) AS last_time_us FROM event WHERE snapshot_id IN (SELECT snapshot_id FROM named) GROUP BY snapshot_id),
failure AS (SELECT snapshot_id, device, count(*) AS ooms FROM trace_oom GROUP BY snapshot_id, device)
SELECT
  named.run, named.rank, named.handle, source.display_path AS path, named.snapshot_id, total.device,
  coalesce(history.peak_active_seq, -1) AS peak_seq, total.events IS NOT NULL AS has_trace,
  greatest(total.reserved_bytes, total.reserved_bytes - total.reserved_delta_bytes + total.reserved_delta_peak_bytes) AS reserved_bytes,
  coalesce(failure.ooms, 0) AS ooms, last_entry.last_time_us
FROM named
JOIN source ON source.source_id = named.source_id
JOIN snapshot_device AS total ON total.snapshot_id = named.snapshot_id
LEFT JOIN derived_history AS history ON history.snapshot_id = total.snapshot_id AND history.device = total.device
LEFT JOIN last_entry ON last_entry.snapshot_id = named.snapshot_id
LEFT JOIN failure ON failure.snapshot_id = total.snapshot_id AND failure.device = total.device
WHERE total.segments > 0 OR total.events IS NOT NULL
