-- @name   library.step_component
-- @kind   view
-- @title  Live memory by component at the end of each training step
-- @col    run           VARCHAR
-- @col    rank          INTEGER?
-- @col    snapshot_id   INTEGER
-- @col    device        INTEGER
-- @col    ordinal       INTEGER   number of the step in the trace
-- @col    step          BIGINT    as its annotation numbers it
-- @col    end_seq       INTEGER   last entry of the step
-- @col    component     VARCHAR?
-- @col    bytes         BIGINT   actual sizes
-- @col    blocks        BIGINT
-- @why    What accumulates is live at the end of every step, and more after each. Steps without entries are left out.
WITH live AS (
  SELECT run.name AS run, snapshot.rank, step.snapshot_id, step.device, step.ordinal, step.step, step.last_seq AS end_seq, life.label,
    sum(life.actual_bytes) AS bytes, count(*) AS blocks
  FROM trace_step AS step
  JOIN block_life AS life ON life.snapshot_id = step.snapshot_id AND life.device = step.device
    AND life.from_seq <= step.last_seq AND life.to_seq > step.last_seq
  JOIN snapshot ON snapshot.snapshot_id = life.snapshot_id
  JOIN run ON run.run_id = snapshot.run_id
  GROUP BY ALL)
SELECT
  live.run, live.rank, live.snapshot_id, live.device, live.ordinal, live.step, live.end_seq, label.component,
  sum(live.bytes)::BIGINT AS bytes, sum(live.blocks)::BIGINT AS blocks
FROM live
LEFT JOIN label ON label.snapshot_id = live.snapshot_id AND label.device = live.device AND label.label = live.label
GROUP BY ALL
