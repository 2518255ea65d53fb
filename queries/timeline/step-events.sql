-- @name   timeline.step_events
-- @title  What the allocator was asked for in each of a list of ranges of entries
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  firsts VARCHAR  first entries, ascending and disjoint: 1,5
-- @param  lasts  VARCHAR  last entries, in the same order
-- @col    nth                       INTEGER  place in the list, from 0
-- @col    allocs                    BIGINT
-- @col    frees                     BIGINT   completed
-- @col    allocated_requested_bytes BIGINT   requested sizes of the allocs
-- @col    segment_allocs            BIGINT   mapped pages of expandable segments too
-- @col    segment_alloc_bytes       BIGINT
-- @col    segment_frees             BIGINT
-- @col    segment_free_bytes        BIGINT
-- @why    One pass over the trace for all steps, however many. Entries of a chunk of 256 that is entirely inside a range are summed before
--         they are joined with the list.
WITH
  list AS (
    SELECT unnest(range(0, len(string_split($firsts, ',')::INTEGER[])))::INTEGER AS nth,
      unnest(string_split($firsts, ',')::INTEGER[]) AS from_seq, unnest(string_split($lasts, ',')::INTEGER[]) AS to_seq),
  edge AS (SELECT from_seq // 256 AS chunk FROM list UNION SELECT to_seq // 256 FROM list),
  entry AS (
    SELECT seq, seq // 256 AS chunk, action, size_bytes
    FROM event
    WHERE snapshot_id = $snapshot_id AND device = $device
      AND action IN ('alloc', 'free_completed', 'segment_alloc', 'segment_map', 'segment_free', 'segment_unmap')),
  piece AS (
    SELECT
      min(seq) AS seq,
      count(*) FILTER (action = 'alloc') AS allocs,
      count(*) FILTER (action = 'free_completed') AS frees,
      coalesce(sum(size_bytes) FILTER (action = 'alloc'), 0) AS allocated,
      count(*) FILTER (action IN ('segment_alloc', 'segment_map')) AS segment_allocs,
      coalesce(sum(size_bytes) FILTER (action IN ('segment_alloc', 'segment_map')), 0) AS segment_allocated,
      count(*) FILTER (action IN ('segment_free', 'segment_unmap')) AS segment_frees,
      coalesce(sum(size_bytes) FILTER (action IN ('segment_free', 'segment_unmap')), 0) AS segment_freed
    FROM entry LEFT JOIN edge USING (chunk)
    GROUP BY chunk, CASE WHEN edge.chunk IS NULL THEN -1 ELSE seq END)
SELECT
  list.nth,
  coalesce(sum(allocs), 0)::BIGINT AS allocs,
  coalesce(sum(frees), 0)::BIGINT AS frees,
  coalesce(sum(allocated), 0)::BIGINT AS allocated_requested_bytes,
  coalesce(sum(segment_allocs), 0)::BIGINT AS segment_allocs,
  coalesce(sum(segment_allocated), 0)::BIGINT AS segment_alloc_bytes,
  coalesce(sum(segment_frees), 0)::BIGINT AS segment_frees,
  coalesce(sum(segment_freed), 0)::BIGINT AS segment_free_bytes
FROM list
LEFT JOIN (SELECT piece.*, list.nth FROM piece ASOF JOIN list ON piece.seq >= list.from_seq
  WHERE piece.seq <= list.to_seq) AS inside USING (nth)
GROUP BY list.nth
ORDER BY list.nth
