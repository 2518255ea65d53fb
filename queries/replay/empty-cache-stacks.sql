-- @name   replay.empty_cache_stacks
-- @title  Stacks of segments given back because the program emptied the cache
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    stack_id INTEGER
-- @why    An emptied cache and the last resort of a failing request leave the same entries; the frames distinguish them:
--         `torch/cuda/memory.py` `empty_cache`, in C++ `emptyCache`.
SELECT DISTINCT released.stack_id
FROM (
  SELECT DISTINCT stack_id
  FROM event
  WHERE snapshot_id = $snapshot_id AND device = $device AND action IN ('segment_free', 'segment_unmap') AND stack_id IS NOT NULL
) AS released
JOIN stack_frame ON stack_frame.stack_id = released.stack_id
JOIN frame USING (frame_id)
WHERE frame.name LIKE '%empty_cache%' OR frame.name LIKE '%emptyCache%'
ORDER BY released.stack_id
