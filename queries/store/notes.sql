-- @name   store.notes
-- @title  Everything odd that was noted while reading a source
-- @param  source_id INTEGER
-- @of     ingest_note
-- @why    Oddities are rows, so that every verb can show those of the files it used.
SELECT source_id, kind, severity, text, count, byte_offset, line, device, seq
FROM ingest_note
WHERE source_id = $source_id
ORDER BY severity DESC, kind, text, device NULLS FIRST
