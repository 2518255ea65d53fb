-- @name   log.device_total
-- @title  Total memory of the device as memory lines print it
-- @param  run_id INTEGER
-- @col    bytes BIGINT the commonest value
-- @needs  log_memory
-- @why    Devices of a run are alike; where one is not, the commonest is still the one to compare with.
SELECT log.bytes
FROM log_memory AS log
JOIN source USING (source_id)
WHERE source.run_id = $run_id AND log.bytes IS NOT NULL AND log.metric_id IN (SELECT text_id FROM text_value WHERE text = 'device_total')
GROUP BY log.bytes
ORDER BY count(*) DESC, log.bytes DESC
LIMIT 1
