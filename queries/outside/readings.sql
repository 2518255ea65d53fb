-- @name   outside.readings
-- @title  Ranks whose PyTorch said what it held, and how often
-- @param  run_id INTEGER
-- @uses   _outside.readings
-- @col    rank              INTEGER?
-- @col    readings          BIGINT
-- @col    timed             BIGINT
-- @col    complete          BIGINT   with the device's memory in the same record
-- @col    max_reserved_bytes BIGINT  of these moments
-- @col    clocks            VARCHAR[]? of those with a time
-- @why    Says which ranks there is anything to compare of, before their devices are looked for.
SELECT rank, count(*) AS readings, count(time_us) AS timed, count(used_bytes) AS complete, max(reserved_bytes) AS max_reserved_bytes,
  list(DISTINCT clock) FILTER (time_us IS NOT NULL) AS clocks
FROM readings
GROUP BY rank
ORDER BY rank NULLS FIRST
