-- @name   stack.all
-- @title  All stacks
-- @col    stack_id    INTEGER
-- @col    depth       INTEGER
-- @col    content_key VARCHAR
-- @col    site        VARCHAR?
-- @why    Rewritten as a whole when sites are named.
SELECT stack_id, depth, content_key, site
FROM stack
ORDER BY stack_id
