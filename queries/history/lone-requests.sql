-- @name   history.lone_requests
-- @title  Frees that were requested and never completed, of blocks that are not pending in the dump
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    count BIGINT
-- @why    Of a trace without any free_completed: were completions left out of the recording (skip_actions), or are they all outstanding? A
--         ring of few entries often holds a request alone.
SELECT count(*) AS count
FROM event
WHERE snapshot_id = $snapshot_id AND device = $device AND action = 'free_requested'
  AND addr NOT IN (SELECT address FROM block WHERE snapshot_id = $snapshot_id AND device = $device AND state = 'active_pending_free')
LIMIT 1
