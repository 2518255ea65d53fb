-- @name   incident.run_total
-- @title  The device total that all messages of a run agree on, of some runs
-- @param  run_ids VARCHAR  of runs, joined by commas
-- @col    run_id          INTEGER
-- @col    total_bytes     BIGINT
-- @col    total_precision_bytes BIGINT
-- @col    path            VARCHAR  of the first message that prints it
-- @col    line            BIGINT
-- @needs  incident
-- @why    The devices of a run are alike, and figures of a message are rounded. Where messages differ by more, no total is known of devices
--         whose own message is missing.
WITH printed AS (
  SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY path, line, incident_id) AS place
  FROM oom_message
  WHERE total_bytes IS NOT NULL AND list_contains(string_split($run_ids, ',')::INTEGER[], run_id))
SELECT first.run_id, first.total_bytes, first.total_precision_bytes, first.path, first.line
FROM printed AS first
JOIN printed ON printed.run_id = first.run_id
WHERE first.place = 1
GROUP BY ALL
HAVING bool_and(abs(printed.total_bytes - first.total_bytes) <= printed.total_precision_bytes + first.total_precision_bytes)
ORDER BY first.run_id
