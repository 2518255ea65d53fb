-- @name   export.annotations
-- @title  Annotations of a snapshot as JSON text
-- @param  snapshot_id INTEGER
-- @param  from_ordinal INTEGER  first
-- @param  to_ordinal   INTEGER  one past the last
-- @param  until_us     BIGINT?  leaves out what is later
-- @col    json VARCHAR
-- @why    A scope that starts after the moment asked for is not part of it.
SELECT
  concat(
    '{"stage":"', stage::VARCHAR, '","name":', to_json(name.text)::VARCHAR,
    ',"device":' || annotation.device,
    ',"time_us":' || annotation.time_us, '}'
  ) AS json
FROM annotation
JOIN text_value AS name ON name.text_id = annotation.name_id
WHERE snapshot_id = $snapshot_id AND ordinal >= $from_ordinal AND ordinal < $to_ordinal
  AND ($until_us IS NULL OR annotation.time_us IS NULL OR annotation.time_us <= $until_us)
ORDER BY ordinal
