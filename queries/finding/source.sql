-- @name   finding.source
-- @title  Location of a file of a run, and its state when it was read
-- @param  run_id INTEGER
-- @param  path   VARCHAR  as sources name it
-- @col    path       VARCHAR
-- @col    file_bytes BIGINT
-- @col    sha256     VARCHAR? of the bytes on disk
-- @why    Lines are quoted from the file only while it is the one that was read.
SELECT path, file_bytes, sha256
FROM source
WHERE run_id = $run_id AND display_path = $path
ORDER BY source_id
LIMIT 1
