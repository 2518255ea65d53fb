-- @name   outside.rank_places
-- @title  Where ranks run, as far as known: hosts, pids, and the devices NCCL names
-- @param  run_id INTEGER
-- @col    rank   INTEGER? NULL only for NCCL's lines, which name the rank themselves
-- @col    host   VARCHAR?
-- @col    pid    BIGINT?
-- @col    device INTEGER? ordinal of the process
-- @col    nccl   VARCHAR? NCCL's words of a communicator of all ranks: index and bus of the device
-- @why    Prefixes name hosts, failure messages and profiles name pids, NCCL names the device by the driver's own index.
SELECT DISTINCT rank, host, pid, device, nccl FROM (
  SELECT coalesce(log.rank, source.rank) AS rank, host.text AS host, NULL::BIGINT AS pid, NULL::INTEGER AS device, NULL::VARCHAR AS nccl
  FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS host ON host.text_id = log.host_id WHERE source.run_id = $run_id
  UNION ALL
  SELECT coalesce(log.rank, source.rank), host.text, NULL, log.device, words.text
  FROM log_figure AS log JOIN source USING (source_id) JOIN text_value AS name ON name.text_id = log.name_id
    LEFT JOIN text_value AS words ON words.text_id = log.text_id
  LEFT JOIN text_value AS host ON host.text_id = log.host_id
  WHERE source.run_id = $run_id AND name.text = 'nccl.communicator'
  UNION ALL
  SELECT coalesce(incident.rank, source.rank), incident.host, incident.pid, incident.device, NULL FROM incident
    JOIN source USING (source_id) WHERE source.run_id = $run_id AND incident.is_oom
  UNION ALL
  SELECT process.rank, report.host, process.pid, NULL, NULL
  FROM nsys_process AS process JOIN nsys_report AS report USING (source_id) JOIN source USING (source_id) WHERE source.run_id = $run_id)
WHERE nccl IS NOT NULL OR (rank IS NOT NULL AND (host IS NOT NULL OR pid IS NOT NULL OR device IS NOT NULL))
ORDER BY ALL
