-- @name   peak.stages
-- @title  Live memory of a device after one entry of its trace, by the innermost open scope of the allocation, and lifetime
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  times VARCHAR?  when the innermost scope changes: ascending microseconds, separated by commas
-- @col    before_trace BOOLEAN  allocated before the first entry
-- @col    is_timed     BOOLEAN  the allocation has a time
-- @col    changes      INTEGER  how many of the changes were before it, or at its microsecond
-- @col    lifetime     VARCHAR? resident, transient or unknown; see lifetimes_at
-- @col    bytes        BIGINT
-- @col    count        BIGINT
-- @why    Scopes lack an id and may overlap: code pairs their starts and ends, and the blocks are counted between them.
WITH live AS (
  SELECT alloc_seq IS NULL AS before_trace, alloc_us, lifetime, sum(actual_bytes)::BIGINT AS bytes, count(*) AS count
  FROM lifetimes_at($snapshot_id, $device, $at_seq)
  GROUP BY ALL),
-- No ASOF join: DuckDB compares all pairs where it expects few rows, as it does of unnest(). No FILTER: 100 times slower in a window.
moment AS (
  SELECT *, sum(CASE WHEN bytes IS NULL THEN 1 ELSE 0 END)
    OVER (ORDER BY alloc_us NULLS FIRST, bytes IS NOT NULL ROWS UNBOUNDED PRECEDING) AS changes
  FROM (FROM live UNION ALL BY NAME SELECT unnest(string_split($times, ',')::BIGINT[]) AS alloc_us))
SELECT
  before_trace, alloc_us IS NOT NULL AS is_timed, changes::INTEGER AS changes, lifetime, sum(bytes)::BIGINT AS bytes,
  sum(count)::BIGINT AS count
FROM moment
WHERE bytes IS NOT NULL
GROUP BY ALL
ORDER BY before_trace, is_timed, changes, lifetime
