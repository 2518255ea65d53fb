-- @name   verdict.rank_states
-- @title  One state of each rank with a snapshot: at its OOM, else at the peak of its last snapshot, without a trace at its dump
-- @param  run_id  INTEGER
-- @param  run_ids VARCHAR  the same
-- @param  most    INTEGER  ranks; beyond so many snapshots, those without a trace are left out
-- @uses   _verdict.rank_devices
-- @uses   verdict.traced_ooms
-- @col    rank        INTEGER
-- @col    moment      VARCHAR  oom, peak or dump
-- @col    snapshot_id INTEGER
-- @col    device      INTEGER
-- @col    seq         INTEGER  the entry after which it holds; -1 is before the first
-- @col    left_out    BIGINT   snapshots with a trace of ranks that are not among these
-- @why    Ranks are compared by what they held at their failure or peak. A walk to a peak takes time, and a few ranks show what differs.
WITH last AS (
  SELECT snapshot.rank, CASE WHEN device.peak_active_bytes IS NULL THEN 'dump' ELSE 'peak' END AS moment, device.snapshot_id, device.device,
    CASE WHEN device.peak_active_bytes IS NULL THEN -1 ELSE coalesce(device.peak_active_seq, -1) END AS seq,
    row_number() OVER (ORDER BY snapshot.rank DESC, source.display_path DESC, device.snapshot_id DESC) AS place
  FROM rank_devices AS device
  JOIN snapshot ON snapshot.snapshot_id = device.snapshot_id
  JOIN source ON source.source_id = snapshot.source_id
  WHERE snapshot.rank IS NOT NULL AND (device.reserved_bytes <> 0 OR device.peak_active_bytes IS NOT NULL)
    AND (device.peak_active_bytes IS NOT NULL OR (SELECT count(*) FROM snapshot WHERE run_id = $run_id) <= $most)),
chosen AS (
  SELECT * FROM (
    SELECT rank, 'oom' AS moment, snapshot_id, device, seq - 1 AS seq, 0 AS choice, failure AS place FROM traced_ooms WHERE rank IS NOT NULL
    UNION ALL SELECT rank, moment, snapshot_id, device, seq, 1, place FROM last)
  QUALIFY row_number() OVER (PARTITION BY rank ORDER BY choice, place) = 1
  ORDER BY choice, place
  LIMIT $most)
SELECT rank, moment, snapshot_id, device, seq,
  (SELECT count(*) FROM last WHERE moment = 'peak' AND rank NOT IN (SELECT rank FROM chosen)) AS left_out
FROM chosen
ORDER BY rank
