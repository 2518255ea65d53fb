-- @name   library.peak_component
-- @kind   table
-- @title  The peak of each device by component
-- @col    run           VARCHAR  name of the run
-- @col    run_id        INTEGER  the run
-- @col    rank          INTEGER?  global rank
-- @col    snapshot_id   INTEGER  the snapshot
-- @col    device        INTEGER  device
-- @col    peak_seq      INTEGER   entry after which most was active; -1 = before the first, or the dump without a trace
-- @col    component     VARCHAR?  what the memory holds
-- @col    sub_component VARCHAR?  which part of it
-- @col    phase         VARCHAR?  phase of the run in which it was allocated
-- @col    bytes         BIGINT    actual sizes
-- @col    blocks        BIGINT  number of blocks
-- @needs  block_life
-- @why    The lifetimes that contain the peak; labels are joined to sums, which are few. Runs and ranks are joined before the sums: with
--         1,024 ranks, DuckDB 1.5 takes minutes the other way round.
WITH live AS (
  SELECT run.name AS run, run.run_id, snapshot.rank, life.snapshot_id, life.device, coalesce(history.peak_active_seq, -1) AS peak_seq,
    life.label,
    sum(life.actual_bytes) AS bytes, count(*) AS blocks
  FROM derived_history AS history
  JOIN block_life AS life ON life.snapshot_id = history.snapshot_id AND life.device = history.device
    AND life.from_seq <= coalesce(history.peak_active_seq, -1) AND life.to_seq > coalesce(history.peak_active_seq, -1)
  JOIN snapshot ON snapshot.snapshot_id = life.snapshot_id
  JOIN run ON run.run_id = snapshot.run_id
  GROUP BY ALL)
SELECT
  live.run, live.run_id, live.rank, live.snapshot_id, live.device, live.peak_seq, label.component, label.sub_component, label.phase,
  sum(live.bytes)::BIGINT  AS bytes, sum(live.blocks)::BIGINT AS blocks
FROM live
LEFT JOIN label ON label.snapshot_id = live.snapshot_id AND label.device = live.device AND label.label = live.label
GROUP BY ALL
