-- @name   finding.source
-- @title  Location of a file of a run, and its state when it was read
-- @param  run_id INTEGER
-- @param  path   VARCHAR  as sources name it
-- @of     source: path file_bytes sha256 sample_sha256 modified_us
-- @why    Lines are quoted from the file only while it is the one that was read.
SELECT path, file_bytes, sha256, sample_sha256, modified_us
FROM source
WHERE run_id = $run_id AND display_path = $path
ORDER BY source_id
LIMIT 1
