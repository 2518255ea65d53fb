-- @name   incident.dropped
-- @title  How many failure messages of a run are counted and not kept
-- @param  run_id INTEGER
-- @col    count  BIGINT
-- @needs  incident_dropped
-- @why    What a screen does not show of a log with very many of them.
SELECT sum(dropped.count)::BIGINT AS count
FROM incident_dropped AS dropped JOIN source ON source.source_id = dropped.source_id
WHERE source.run_id = $run_id
HAVING count(*) > 0
LIMIT 1
