-- @name   log.env
-- @title  Environment variables as found, with the ranks and hosts that have them
-- @param  run_id INTEGER
-- @col    key          VARCHAR
-- @col    value        VARCHAR?
-- @col    origin       VARCHAR
-- @col    precedence   INTEGER  0 is strongest
-- @col    attempt      INTEGER
-- @col    ranks        INTEGER[]? those known
-- @col    hosts        VARCHAR[]? those known
-- @col    display_path VARCHAR
-- @col    line         BIGINT
-- @why    Of a thousand ranks with one value the reader wants one line, and the one rank that differs.
SELECT env.key, env.value, env.origin, env.precedence, env.attempt,
  list_sort(list(DISTINCT env.rank) FILTER (env.rank IS NOT NULL)) AS ranks,
  list_sort(list(DISTINCT env.host) FILTER (env.host IS NOT NULL)) AS hosts, min(source.display_path) AS display_path,
  arg_min(env.line, source.display_path) AS line
FROM env_value AS env JOIN source USING (source_id)
WHERE env.run_id = $run_id
GROUP BY env.key, env.value, env.origin, env.precedence, env.attempt
ORDER BY env.key, env.attempt DESC, env.precedence, env.value
