-- @name   library.oom_free
-- @kind   view
-- @title  Free memory inside PyTorch at the last OOM of each device, by whether torch searched it for the request
-- @col    run             VARCHAR
-- @col    rank            INTEGER?
-- @col    snapshot_id     INTEGER
-- @col    device          INTEGER
-- @col    seq             INTEGER  the OOM entry
-- @col    class           VARCHAR  searched (pool, class of size and stream of the request), other_stream, other_size_class, private_pool
-- @col    bytes           BIGINT
-- @col    largest_bytes   BIGINT   of one free block
-- @col    free_blocks     BIGINT
-- @col    pinned_segments BIGINT   segments with such free blocks that live blocks keep from going back to the driver
-- @col    pinning_bytes   BIGINT   actual sizes of these live blocks
-- @why    Fragmentation is much free memory in the searched class, all of it in pieces smaller than the request.
WITH segment AS (
  SELECT snapshot_id, device, seq,
    CASE WHEN reason IN ('too_small', 'kept_for_larger', 'large_enough') THEN 'searched' ELSE reason END AS class, segment_address,
    sum(bytes) AS bytes, max(bytes) AS largest, count(*) AS holes, any_value(live_bytes) AS live_bytes,
    any_value(live_blocks) AS live_blocks
  FROM oom_hole GROUP BY ALL)
SELECT
  run.name AS run, snapshot.rank, segment.snapshot_id, segment.device, segment.seq, segment.class, sum(segment.bytes)::BIGINT AS bytes,
  max(segment.largest) AS largest_bytes, sum(segment.holes)::BIGINT AS free_blocks,
  count(*) FILTER (segment.live_blocks > 0) AS pinned_segments, sum(segment.live_bytes)::BIGINT AS pinning_bytes
FROM segment
JOIN snapshot ON snapshot.snapshot_id = segment.snapshot_id
JOIN run ON run.run_id = snapshot.run_id
GROUP BY ALL
