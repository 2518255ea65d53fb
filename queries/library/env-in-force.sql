-- @name   library.env_in_force
-- @kind   macro
-- @title  Environment variables in the latest launch that has each: every value with the ranks and hosts that have it
-- @param  run_key INTEGER  run_id
-- @col    key            VARCHAR
-- @col    value          VARCHAR?
-- @col    origin         VARCHAR
-- @col    precedence     INTEGER   0 is strongest
-- @col    attempt        INTEGER
-- @col    ranks          INTEGER[] those known
-- @col    hosts          VARCHAR[] those known
-- @col    file           VARCHAR
-- @col    line           BIGINT
-- @col    place          BIGINT    1: the value in force, of the strongest origin and of it that of most ranks
-- @col    captured_ranks INTEGER[] ranks whose environment was captured whole, in any launch
-- @col    not_set_on     INTEGER[] those of them that lack the variable
-- @why    Of a thousand ranks with one value the reader wants one line, and the one rank that differs. A variable that no capture has is
--         one that a script only meant to set: it is reported as absent on every captured rank.
WITH
  found AS (
    SELECT env.key, env.value, env.origin, env.precedence, env.attempt, env.origin IN ('process environ', 'env dump') AS is_whole,
      coalesce(list_sort(list(DISTINCT env.rank) FILTER (env.rank IS NOT NULL)), []) AS ranks,
      coalesce(list_sort(list(DISTINCT env.host) FILTER (env.host IS NOT NULL)), []) AS hosts, min(source.display_path) AS file,
      arg_min(env.line, source.display_path) AS line
    FROM env_value AS env JOIN source USING (source_id)
    WHERE env.run_id = run_key
    GROUP BY ALL),
  captures AS (SELECT coalesce(list_sort(list_distinct(flatten(list(ranks)))), []) AS captured_ranks FROM found WHERE is_whole),
  latest AS (SELECT * FROM found QUALIFY attempt = max(attempt) OVER (PARTITION BY key)),
  holders AS (SELECT key, coalesce(flatten(list(ranks) FILTER (is_whole)), []) AS ranks FROM latest GROUP BY key)
SELECT key, value, origin, precedence, attempt, latest.ranks, hosts, file, line,
  row_number() OVER (PARTITION BY key ORDER BY precedence, len(latest.ranks) DESC, value) AS place, captured_ranks,
  list_filter(captured_ranks, lambda held: NOT list_contains(holders.ranks, held)) AS not_set_on
FROM latest JOIN holders USING (key), captures
