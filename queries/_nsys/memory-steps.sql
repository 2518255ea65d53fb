-- @name   _nsys.memory_steps
-- @title  Rises and falls of the memory held at the driver
-- @param  source_id INTEGER
-- @col    pid      INTEGER?
-- @col    device   INTEGER?
-- @col    kind     ENUM
-- @col    time_ns  BIGINT
-- @col    rising   INTEGER  1 for an allocation, 0 for its end: of one moment the falls come first
-- @col    bytes    BIGINT   negative for a fall
-- @col    seq      INTEGER
-- @col    fate     VARCHAR? of a fall: freed, or free_lost
-- @why    An allocation ends where it is freed, and where its free was lost, when another takes its address.
SELECT pid, device, kind, alloc_ns AS time_ns, 1 AS rising, bytes, seq, NULL::VARCHAR AS fate
FROM nsys_allocation WHERE source_id = $source_id AND origin = 'traced'
UNION ALL
SELECT pid, device, kind, free_ns, 0, -bytes, seq, fate
FROM nsys_allocation WHERE source_id = $source_id AND free_ns IS NOT NULL AND origin <> 'allocation_lost'
