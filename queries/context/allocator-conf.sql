-- @name   context.allocator_conf
-- @title  What sets the allocator's variables, by rank
-- @param  run_id INTEGER
-- @col    rank         INTEGER? of that environment; NULL: of all ranks, or nothing says it
-- @col    key          VARCHAR
-- @col    value        VARCHAR? NULL: unset
-- @col    origin       VARCHAR
-- @col    precedence   INTEGER  0 is the strongest origin
-- @col    attempt      INTEGER
-- @col    display_path VARCHAR
-- @col    line         BIGINT
-- @why    A message does not say whether expandable segments were on; a script, an environment dump or the configuration may.
SELECT env.rank, env.key, env.value, env.origin, env.precedence, env.attempt, source.display_path, env.line
FROM env_value AS env
JOIN source USING (source_id)
WHERE env.run_id = $run_id AND env.key IN ('PYTORCH_CUDA_ALLOC_CONF', 'PYTORCH_ALLOC_CONF', 'PYTORCH_HIP_ALLOC_CONF')
ORDER BY env.precedence, env.attempt DESC, source.display_path, env.line DESC
