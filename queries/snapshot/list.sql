-- @name   snapshot.list
-- @title  Memory snapshots, by run and rank
-- @param  run_id INTEGER?  only this run
-- @param  handle VARCHAR?  only this one
-- @col    snapshot_id  INTEGER
-- @col    source_id    INTEGER
-- @col    run          VARCHAR  name of the run
-- @col    display_path VARCHAR  file, relative to the run
-- @col    handle       VARCHAR  run/rank/snapshot#n
-- @col    rank         INTEGER? global rank
-- @col    protocol     INTEGER? pickle protocol; NULL for JSON, which has none
-- @col    form         VARCHAR  dict, or list of segments
-- @col    has_traces   BOOLEAN
-- @col    last_is_oom  BOOLEAN  some trace ends with its OOM: dumped by an observer
-- @col    dump_trigger        VARCHAR? oom, failure or periodic, if known from the file or its name
-- @col    dump_trigger_origin VARCHAR?
-- @why    The entry point of every question about snapshots.
SELECT
  snapshot.snapshot_id, snapshot.source_id, run.name AS run, source.display_path, snapshot.handle, snapshot.rank, snapshot.protocol,
  snapshot.form, snapshot.has_traces, snapshot.last_is_oom, snapshot.dump_trigger, snapshot.dump_trigger_origin
FROM snapshot
JOIN source USING (source_id)
JOIN run ON run.run_id = snapshot.run_id
WHERE ($run_id IS NULL OR snapshot.run_id = $run_id) AND ($handle IS NULL OR snapshot.handle = $handle)
ORDER BY run.name, snapshot.rank NULLS FIRST, source.display_path, snapshot.snapshot_id
