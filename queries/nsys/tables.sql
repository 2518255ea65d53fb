-- @name   nsys.tables
-- @title  Tables of an export and their rows
-- @param  source_id INTEGER
-- @col    name      VARCHAR
-- @col    row_count BIGINT
-- @col    is_read   BOOLEAN  its rows are in the store
-- @why    A table that is not there was not captured, which is not the same as empty.
SELECT name, row_count, is_read FROM nsys_table WHERE source_id = $source_id ORDER BY name
