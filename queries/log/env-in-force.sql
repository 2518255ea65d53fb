-- @name   log.env_in_force
-- @title  Environment variables in the latest launch that has each: every value with the ranks and hosts that have it
-- @param  run_id INTEGER
-- @uses   _run.nccl_threshold
-- @of     env_in_force: key value origin precedence attempt ranks hosts file line place captured_ranks not_set_on
-- @col    is_nccl_demand BOOLEAN   with it NCCL holds more than it would by itself
-- @needs  log_env
-- @why    env_in_force of the library, in order.
SELECT key, value, origin, precedence, attempt, ranks, hosts, file, line, place, captured_ranks, not_set_on,
  coalesce(try_cast(value AS DOUBLE) >= setting.least, false) AS is_nccl_demand
FROM env_in_force($run_id) AS held
LEFT JOIN nccl_threshold AS setting USING (key)
ORDER BY key, precedence, value
