-- @name   store.runs
-- @title  The runs of this store, the latest first
-- @param  run_id INTEGER?  only this run
-- @col    run_id     INTEGER   synthetic
-- @col    name       VARCHAR   what the user calls it
-- @col    label      VARCHAR?
-- @col    commit_sha VARCHAR?
-- @col    root_path  VARCHAR   the path given to ingest
-- @col    created_at TIMESTAMP when it was first ingested
-- @col    sources    BIGINT    files seen, whatever became of them
-- @col    failed     BIGINT    of these, files that could not be read
-- @col    snapshots  BIGINT    memory snapshots read
-- @col    incidents  BIGINT    failure lines found in logs
-- @why    Counts come from scalar subqueries, not joins: a run with 3 snapshots and 5 incidents must not count 15.
SELECT
  run.run_id,
  run.name,
  run.label,
  run.commit_sha,
  run.root_path,
  run.created_at,
  (SELECT count(*) FROM source WHERE source.run_id = run.run_id) AS sources,
  (SELECT count(*) FROM source WHERE source.run_id = run.run_id AND source.status = 'failed') AS failed,
  (SELECT count(*) FROM snapshot WHERE snapshot.run_id = run.run_id) AS snapshots,
  (SELECT count(*) FROM incident JOIN source USING (source_id) WHERE source.run_id = run.run_id) AS incidents
FROM run
WHERE $run_id IS NULL OR run.run_id = $run_id
ORDER BY run.touched_at DESC, run.run_id DESC
