-- @name   golden.runs
-- @title  Runs kept as golden values, by name and position
-- @param  name VARCHAR?  only of this name
-- @col    name     VARCHAR
-- @col    position INTEGER   from 0, in the order in which they were added
-- @col    added_at TIMESTAMP
-- @col    form     VARCHAR   measurement, or upstream: a golden file of Megatron-LM or Megatron Bridge
-- @col    source   VARCHAR   run or file
-- @col    document VARCHAR   JSON
-- @why    Golden values outlive the runs they were measured on, so they are kept whole.
SELECT name, position, added_at, form, source, document
FROM golden_run
WHERE $name IS NULL OR name = $name
ORDER BY name, position
