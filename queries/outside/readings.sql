-- @name   outside.readings
-- @title  Ranks with readings of PyTorch's memory, and their number
-- @param  run_id INTEGER
-- @uses   _outside.readings
-- @col    rank              INTEGER?
-- @col    readings          BIGINT
-- @col    timed             BIGINT
-- @col    complete          BIGINT   with the device's memory in the same record
-- @col    max_reserved_bytes BIGINT  of these moments
-- @col    clocks            VARCHAR[]? of those with a time
-- @why    Selects the ranks with data to compare, before their devices are searched.
SELECT rank, count(*) AS readings, count(time_us) AS timed, count(used_bytes) AS complete, max(reserved_bytes) AS max_reserved_bytes,
  list(DISTINCT clock) FILTER (time_us IS NOT NULL) AS clocks
FROM readings
GROUP BY rank
ORDER BY rank NULLS FIRST
