-- @name   store.relations
-- @title  Tables and views of the store
-- @col    name VARCHAR
-- @col    is_view BOOLEAN
-- @why    An export names what it can export.
SELECT table_name AS name, table_type = 'VIEW' AS is_view
FROM information_schema.tables
WHERE table_catalog NOT IN ('system', 'temp') AND table_schema = 'main'
ORDER BY table_name
