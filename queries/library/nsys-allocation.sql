-- @name   library.nsys_allocation
-- @kind   view
-- @title  Every driver allocation of an Nsight Systems export
-- @col    source_id        INTEGER
-- @col    seq              INTEGER  event of the allocation, else of the free
-- @col    pid              INTEGER?
-- @col    device           INTEGER?
-- @col    context          INTEGER?
-- @col    stream           INTEGER?
-- @col    kind             ENUM
-- @col    address          UBIGINT?
-- @col    bytes            BIGINT
-- @col    alloc_ns         BIGINT?
-- @col    free_ns          BIGINT?
-- @col    fate             VARCHAR  freed, open, or free_lost
-- @col    origin           VARCHAR  traced, before_capture, or allocation_lost
-- @col    correlation      BIGINT?  call of the allocation
-- @col    free_correlation BIGINT?  call of the free
-- @col    pc               UBIGINT?
-- @col    name_id          BIGINT?
-- @col    pool_address     UBIGINT?
-- @why    The two events of an allocation are joined by process, context and address, in order of time; events can be lost.
WITH ordered AS (
  SELECT *, lag(operation) OVER block AS before_operation, lead(operation) OVER block AS next_operation,
    lead(start_ns) OVER block AS next_ns, lead(correlation) OVER block AS next_correlation
  FROM nsys_memory WHERE operation <> 'other'
  WINDOW block AS (PARTITION BY source_id, pid, context, address ORDER BY start_ns, correlation, seq))
SELECT
  source_id, seq, pid, device, context, stream, kind, address, bytes, start_ns AS alloc_ns, next_ns AS free_ns,
  CASE next_operation WHEN 'deallocation' THEN 'freed' WHEN 'allocation' THEN 'free_lost' ELSE 'open' END AS fate, 'traced' AS origin,
  correlation, CASE WHEN next_operation = 'deallocation' THEN next_correlation END AS free_correlation, pc, name_id, pool_address
FROM ordered WHERE operation = 'allocation'
UNION ALL
SELECT
  source_id, seq, pid, device, context, stream, kind, address, bytes, NULL, start_ns, 'freed',
  CASE WHEN before_operation IS NULL THEN 'before_capture' ELSE 'allocation_lost' END, NULL, correlation, pc, name_id, pool_address
FROM ordered WHERE operation = 'deallocation' AND before_operation IS DISTINCT FROM 'allocation'
