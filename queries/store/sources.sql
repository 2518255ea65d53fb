-- @name   store.sources
-- @title  The files of a run, or of all runs, and what became of each
-- @param  run_id INTEGER?  only this run
-- @of     source: source_id display_path format status file_bytes rank rank_origin sha256 error_code error_text
-- @col    run          VARCHAR  name of the run
-- @col    notes        BIGINT   distinct oddities noted while reading
-- @why    A failed or unknown file is a row like any other: what was not read must be as visible as what was.
SELECT
  source.source_id,
  run.name AS run,
  source.display_path,
  source.format,
  source.status,
  source.file_bytes,
  source.rank,
  source.rank_origin,
  source.sha256,
  source.error_code,
  source.error_text,
  (SELECT count(*) FROM ingest_note WHERE ingest_note.source_id = source.source_id) AS notes
FROM source
JOIN run USING (run_id)
WHERE $run_id IS NULL OR source.run_id = $run_id
ORDER BY run.touched_at DESC, run.run_id DESC, source.display_path, source.source_id
