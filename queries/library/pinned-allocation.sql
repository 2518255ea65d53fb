-- @name   library.pinned_allocation
-- @kind   view
-- @title  Every block of pinned host memory that was in use at any moment
-- @col    run         VARCHAR
-- @col    rank        INTEGER?
-- @col    snapshot_id INTEGER
-- @col    address     UBIGINT
-- @col    size_bytes  BIGINT    of the block, rounded up; what was asked for is in no file
-- @col    alloc_seq   INTEGER?  entry of host_event; NULL: from before the trace
-- @col    free_seq    INTEGER?  entry after which it can be used again; NULL: in use at the dump
-- @col    alloc_us    BIGINT?
-- @col    free_us     BIGINT?
-- @col    step        BIGINT?   training step by annotations in which it was allocated
-- @col    pool        INTEGER?
-- @col    stack_id    INTEGER?
-- @col    site        VARCHAR?
-- @why    Torch 2.14 records it on request (record_pinned_host_memory), in one trace for the process: times join it with a device's.
WITH life AS (
  SELECT snapshot_id, addr AS address, size_bytes, seq AS alloc_seq, time_us AS alloc_us, pool, stack_id, action::VARCHAR AS action,
    lead(seq) OVER entries AS free_seq, lead(time_us) OVER entries AS free_us
  FROM host_event
  WHERE action IN ('alloc', 'free_completed')
  WINDOW entries AS (PARTITION BY snapshot_id, addr ORDER BY seq)),
before AS (
  SELECT snapshot_id, addr AS address, min(seq) AS seq FROM host_event WHERE action IN ('alloc', 'free_completed') GROUP BY ALL),
block AS (
  SELECT snapshot_id, address, size_bytes, alloc_seq, free_seq, alloc_us, free_us, pool, stack_id FROM life WHERE action = 'alloc'
  UNION ALL
  SELECT life.snapshot_id, life.address, life.size_bytes, NULL, life.alloc_seq, NULL, life.alloc_us, life.pool, life.stack_id
  FROM life
  JOIN before ON before.snapshot_id = life.snapshot_id AND before.address = life.address AND before.seq = life.alloc_seq
  WHERE life.action = 'free_completed'
  UNION ALL
  SELECT segment.snapshot_id, segment.address, segment.active_bytes, NULL, NULL, NULL, NULL, segment.pool, segment.stack_id
  FROM host_segment AS segment
  LEFT JOIN before ON before.snapshot_id = segment.snapshot_id AND before.address = segment.address
  WHERE before.address IS NULL AND segment.active_bytes > 0),
step AS (
  SELECT snapshot_id, step, start_us, end_us FROM trace_step
  QUALIFY device = min(device) OVER (PARTITION BY snapshot_id))
SELECT
  run.name AS run, snapshot.rank, block.snapshot_id, block.address, block.size_bytes, block.alloc_seq, block.free_seq, block.alloc_us,
  block.free_us, step.step, block.pool, block.stack_id, stack.site
FROM block
JOIN snapshot ON snapshot.snapshot_id = block.snapshot_id
JOIN run ON run.run_id = snapshot.run_id
LEFT JOIN stack ON stack.stack_id = block.stack_id
LEFT JOIN step ON step.snapshot_id = block.snapshot_id AND step.start_us <= block.alloc_us AND step.end_us > block.alloc_us
