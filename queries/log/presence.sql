-- @name   log.presence
-- @title  Ranks, hosts and files that occur in rows of texts
-- @param  run_id INTEGER
-- @col    kind   VARCHAR  rank or host
-- @col    rank   INTEGER?
-- @col    host   VARCHAR?
-- @why    Conclusions are limited to what was read: a log of rank 0 alone contains nothing about the others.
SELECT kind, rank, host FROM (
  SELECT DISTINCT 'rank' AS kind, rank, NULL::VARCHAR AS host FROM (
    SELECT source.run_id, coalesce(log.rank, source.rank) AS rank FROM log_memory AS log JOIN source USING (source_id)
    UNION ALL SELECT source.run_id, coalesce(log.rank, source.rank) FROM log_iteration AS log JOIN source USING (source_id)
    UNION ALL SELECT source.run_id, coalesce(log.rank, source.rank) FROM log_figure AS log JOIN source USING (source_id)
    UNION ALL SELECT source.run_id, coalesce(incident.rank, source.rank) FROM incident JOIN source USING (source_id)
    UNION ALL SELECT source.run_id, coalesce(log.rank, source.rank) FROM log_phase AS log JOIN source USING (source_id)
    UNION ALL SELECT source.run_id, coalesce(log.rank, source.rank) FROM log_env AS log JOIN source USING (source_id)
    UNION ALL SELECT source.run_id, coalesce(log.rank, source.rank) FROM log_config AS log JOIN source USING (source_id))
  WHERE run_id = $run_id AND rank IS NOT NULL
  UNION ALL
  SELECT DISTINCT 'host', NULL, host FROM (
    SELECT source.run_id, incident.host FROM incident JOIN source USING (source_id)
    UNION ALL SELECT source.run_id, text.text FROM log_memory AS log JOIN source USING (source_id)
      JOIN text_value AS text ON text.text_id = log.host_id
    UNION ALL SELECT source.run_id, text.text FROM log_figure AS log JOIN source USING (source_id)
      JOIN text_value AS text ON text.text_id = log.host_id)
  WHERE run_id = $run_id AND host IS NOT NULL)
ORDER BY kind, rank, host
