-- @name   trend.runs
-- @title  Runs in the order of their first ingestion, and the evidence of how each ended
-- @col    run_id        INTEGER
-- @col    name          VARCHAR
-- @col    label         VARCHAR?
-- @col    commit_sha    VARCHAR?
-- @col    last_attempt  INTEGER  1 if no text reports launches
-- @col    logs          BIGINT   text logs read
-- @col    finished      BOOLEAN  a line of the last launch reports its end
-- @col    oom_snapshots BIGINT   of the last launch, dumped because of an OOM
-- @why    All runs at once: a query for each of a thousand runs takes longer than all of their lines. Counts are made before joining.
WITH
  launches AS (
    SELECT source.run_id, max(source.attempt + coalesce(launch.attempt, 1) - 1) AS last_attempt
    FROM source LEFT JOIN source_attempt AS launch USING (source_id) GROUP BY source.run_id),
  logs AS (SELECT run_id, count(*) AS logs FROM source WHERE format = 'log' AND status = 'ingested' GROUP BY run_id),
  finished AS (
    SELECT DISTINCT source.run_id
    FROM log_phase AS log JOIN source USING (source_id) JOIN launches ON launches.run_id = source.run_id
    WHERE log.phase = 'finished' AND source.attempt + log.attempt - 1 = launches.last_attempt),
  dumps AS (
    SELECT snapshot.run_id, count(*) AS oom_snapshots
    FROM snapshot JOIN source USING (source_id) JOIN launches ON launches.run_id = snapshot.run_id
    WHERE (snapshot.dump_trigger = 'oom' OR snapshot.last_is_oom) AND source.attempt = launches.last_attempt
    GROUP BY snapshot.run_id)
SELECT run.run_id, run.name, run.label, run.commit_sha, coalesce(launches.last_attempt, 1) AS last_attempt, coalesce(logs.logs, 0) AS logs,
  finished.run_id IS NOT NULL AS finished, coalesce(dumps.oom_snapshots, 0) AS oom_snapshots
FROM run
LEFT JOIN launches ON launches.run_id = run.run_id
LEFT JOIN logs ON logs.run_id = run.run_id
LEFT JOIN finished ON finished.run_id = run.run_id
LEFT JOIN dumps ON dumps.run_id = run.run_id
ORDER BY run.created_at, run.run_id
