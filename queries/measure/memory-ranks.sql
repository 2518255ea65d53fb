-- @name   measure.memory_ranks
-- @title  Memory lines of the newest attempt that printed any, by rank: the first line's peak, and the largest of all
-- @param  run_id INTEGER
-- @of     memory_of_ranks
-- @why    memory_of_ranks of the library, in order.
SELECT * FROM memory_of_ranks($run_id) AS held ORDER BY rank NULLS FIRST
