-- @name   peak.annotations
-- @title  Starts and ends of record_function scopes, in the order recorded
-- @param  snapshot_id INTEGER
-- @col    ordinal INTEGER
-- @col    stage   VARCHAR  START, END or other
-- @col    name    VARCHAR
-- @col    device  INTEGER? current device of the thread
-- @col    time_us BIGINT?
-- @why    Scopes lack an id: they are paired by device and name.
SELECT annotation.ordinal, annotation.stage::VARCHAR AS stage, text_value.text AS name, annotation.device, annotation.time_us
FROM annotation
JOIN text_value ON text_value.text_id = annotation.name_id
WHERE annotation.snapshot_id = $snapshot_id
ORDER BY annotation.ordinal
