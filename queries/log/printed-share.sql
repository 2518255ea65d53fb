-- @name   log.printed_share
-- @title  The largest share of the device that the iteration lines of a launch print with their memory
-- @param  run_id  INTEGER
-- @param  attempt INTEGER
-- @col    percent DOUBLE
-- @why    torchtitan prints `116.41GiB(83.32%)` and, in many logs, no total of the device.
SELECT max(log.value) AS percent
FROM log_figure AS log
JOIN source USING (source_id)
JOIN text_value AS name ON name.text_id = log.name_id
WHERE source.run_id = $run_id AND source.attempt + log.attempt - 1 = $attempt AND name.text = 'iteration.memory_percent'
  AND log.value > 0 AND log.value <= 100
HAVING count(*) > 0
LIMIT 1
