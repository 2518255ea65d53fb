-- @name   verdict.memory_writers
-- @title  How many ranks printed memory figures in one launch
-- @param  run_id  INTEGER
-- @param  attempt INTEGER  the launch
-- @col    writers BIGINT   lines without a rank are one more
-- @col    rank    INTEGER?  one of them
-- @needs  log_memory
-- @why    A failure without a rank is of the rank that prints, where only one does.
SELECT count(*) AS writers, any_value(rank) AS rank
FROM (
  SELECT DISTINCT coalesce(log.rank, source.rank) AS rank
  FROM log_memory AS log JOIN source USING (source_id)
  WHERE source.run_id = $run_id AND source.attempt + log.attempt - 1 = $attempt)
HAVING count(*) > 0
LIMIT 1
