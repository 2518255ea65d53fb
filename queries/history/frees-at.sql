-- @name   history.frees_at
-- @title  Completed frees at some addresses
-- @param  snapshot_id INTEGER
-- @param  addresses VARCHAR  decimal, separated by commas
-- @col    addr UBIGINT
-- @col    seq  INTEGER
-- @why    memory_viz names a block by its address and how often that address was freed before.
SELECT addr, seq
FROM event
WHERE snapshot_id = $snapshot_id AND action = 'free_completed'
  AND addr IN (SELECT CAST(unnest(string_split($addresses, ',')) AS UBIGINT))
ORDER BY addr, seq
