-- @name   peak.texts
-- @title  Interned texts by id
-- @param  text_ids VARCHAR  ids, separated by commas
-- @col    text_id INTEGER
-- @col    text    VARCHAR
-- @why    Compile contexts and metadata are few; the entries that name them are many.
SELECT text_id, text
FROM text_value
WHERE text_id IN (SELECT CAST(unnest(string_split($text_ids, ',')) AS INTEGER))
ORDER BY text_id
