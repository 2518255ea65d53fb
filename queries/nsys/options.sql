-- @name   nsys.options
-- @title  How a report was captured and exported
-- @param  source_id INTEGER
-- @col    key   VARCHAR
-- @col    value VARCHAR
-- @why    Two captures that differ here cannot be compared without saying so.
SELECT DISTINCT key, value FROM nsys_option WHERE source_id = $source_id ORDER BY key, value
