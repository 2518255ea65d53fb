-- @name   picture.ranks
-- @title  Largest memory of each rank of a run, from traces or logs, whichever saw more
-- @param  run VARCHAR
-- @col    rank           INTEGER
-- @col    allocated_bytes BIGINT?
-- @col    reserved_bytes  BIGINT?
-- @col    ooms            BIGINT?  of traces or messages, whichever are more; NULL: not known
-- @why    The heat map of a page.
SELECT
  rank, greatest(peak_active_bytes, printed_peak_allocated_bytes) AS allocated_bytes,
  greatest(peak_reserved_bytes, printed_peak_reserved_bytes) AS reserved_bytes,
  CASE WHEN printed_ooms IS NOT NULL OR traced_ooms > 0 THEN greatest(traced_ooms, printed_ooms) END AS ooms
FROM rank_summary
WHERE run = $run AND rank IS NOT NULL
ORDER BY rank
