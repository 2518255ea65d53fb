-- @name   library.config_value
-- @kind   view
-- @title  Every setting of a run, wherever it was found
-- @col    run_id     INTEGER
-- @col    source_id  INTEGER
-- @col    attempt    INTEGER  launch of the run
-- @col    line       BIGINT
-- @col    rank       INTEGER? global rank, else that of the file
-- @col    key        VARCHAR  canonical
-- @col    raw_key    VARCHAR  as found
-- @col    value      VARCHAR? of a secret only its length
-- @col    origin     VARCHAR
-- @col    precedence INTEGER  of the origin; 0 is the strongest
-- @col    format     VARCHAR  format that read it
-- @why    log_config with the run, and the launch counted over the run.
SELECT
  source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, coalesce(log.rank, source.rank) AS rank, log.key,
  log.raw_key, log.value, log.origin, log.precedence, log.format
FROM log_config AS log JOIN source USING (source_id)
