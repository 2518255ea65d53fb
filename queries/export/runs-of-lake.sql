-- @name   export.runs_of_lake
-- @title  The runs of a lake, the one that began last first
-- @param  run VARCHAR?      only this one, as the lake names it
-- @col    run VARCHAR        name in the lake
-- @col    name VARCHAR       as the user calls it
-- @col    label VARCHAR?     as given to lake add
-- @col    commit_sha VARCHAR?  as given to lake add
-- @col    started_us BIGINT? first time in its logs, else of its first allocation, µs since 1970
-- @col    blocks INTEGER     blocks that it was divided into
-- @col    missing INTEGER[]  numbers of those that are not whole
-- @col    ranks BIGINT       ranks of the others
-- @col    peak_allocated_bytes BIGINT?  most allocated of a rank, by snapshots, logs and metrics
-- @col    peak_reserved_bytes BIGINT?   reserved at most, by logs and metrics
-- @col    schema_version INTEGER  of the stores that its rows were taken from
-- @why    A run is asked by a name, and an answer lists the blocks that are missing.
SELECT
  run, min(name) AS name, min(label) AS label, min(commit_sha) AS commit_sha, min(started_us) AS started_us, max(blocks) AS blocks,
  list_filter(range(max(blocks)), lambda number: NOT list_contains(list(task), number))::INTEGER[] AS missing,
  sum(ranks)::BIGINT AS ranks, greatest(max(peak_active_bytes), max(printed_peak_allocated_bytes)) AS peak_allocated_bytes,
  max(printed_peak_reserved_bytes) AS peak_reserved_bytes, min(schema_version) AS schema_version
FROM lake.run_summary
WHERE $run IS NULL OR run = $run
GROUP BY run
ORDER BY min(started_us) DESC NULLS LAST, run
