-- @name   library.peak_site
-- @kind   table
-- @title  The peak of each device by call site
-- @col    run          VARCHAR  name of the run
-- @col    run_id       INTEGER  the run
-- @col    rank         INTEGER?  global rank
-- @col    snapshot_id  INTEGER  the snapshot
-- @col    device       INTEGER  device
-- @col    peak_seq     INTEGER   entry after which most was active; -1 = before the first, or the dump without a trace
-- @col    site         VARCHAR?  function and file:line; NULL: no stack, or one without frames
-- @col    stack_origin VARCHAR   free_event: the site of the free, where the allocation is outside the trace; none: no stack
-- @col    bytes        BIGINT    actual sizes
-- @col    blocks       BIGINT  number of blocks
-- @needs  block_life
-- @why    A site is the innermost frame that belongs neither to the allocator nor to torch; see `explain-stack`.
SELECT
  run.name AS run, run.run_id, snapshot.rank, life.snapshot_id, life.device, coalesce(history.peak_active_seq, -1) AS peak_seq, stack.site,
  life.stack_origin::VARCHAR AS stack_origin, sum(life.actual_bytes)::BIGINT AS bytes, count(*) AS blocks
FROM derived_history AS history
JOIN block_life AS life ON life.snapshot_id = history.snapshot_id AND life.device = history.device
  AND life.from_seq <= coalesce(history.peak_active_seq, -1) AND life.to_seq > coalesce(history.peak_active_seq, -1)
JOIN snapshot ON snapshot.snapshot_id = life.snapshot_id
JOIN run ON run.run_id = snapshot.run_id
LEFT JOIN stack ON stack.stack_id = life.stack_id
GROUP BY ALL
