-- @name   nsys.texts
-- @title  Texts of a report by their numbers
-- @param  source_id INTEGER
-- @param  text_ids VARCHAR  numbers, comma-separated
-- @col    text_id BIGINT
-- @col    text    VARCHAR
-- @why    Ranges are walked by number; only the texts that are shown are read.
SELECT text_id, first(text) AS text
FROM nsys_text
WHERE source_id = $source_id AND text_id IN (SELECT unnest(string_split($text_ids, ','))::BIGINT)
GROUP BY text_id ORDER BY text_id
