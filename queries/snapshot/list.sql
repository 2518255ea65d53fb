-- @name   snapshot.list
-- @title  Memory snapshots, by run and rank
-- @param  run_id INTEGER?  only this run
-- @param  handle VARCHAR?  only this one
-- @of     snapshot: snapshot_id source_id handle rank protocol form has_traces last_is_oom dump_trigger dump_trigger_origin
-- @col    run          VARCHAR  name of the run
-- @col    display_path VARCHAR  file, relative to the run
-- @why    The entry point of every question about snapshots.
SELECT
  snapshot.snapshot_id, snapshot.source_id, run.name AS run, source.display_path, snapshot.handle, snapshot.rank, snapshot.protocol,
  snapshot.form, snapshot.has_traces, snapshot.last_is_oom, snapshot.dump_trigger, snapshot.dump_trigger_origin
FROM snapshot
JOIN source USING (source_id)
JOIN run ON run.run_id = snapshot.run_id
WHERE ($run_id IS NULL OR snapshot.run_id = $run_id) AND ($handle IS NULL OR snapshot.handle = $handle)
ORDER BY run.name, snapshot.rank NULLS FIRST, source.display_path, snapshot.snapshot_id
