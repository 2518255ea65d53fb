-- @name   state.cells
-- @title  Live bytes in equal cells of segments after one entry of a trace; only cells that have any
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @param  at_seq INTEGER  -1 = before the first entry
-- @param  segments VARCHAR  address, size and bytes of a cell of each, joined by blanks; segments joined by commas
-- @col    address         UBIGINT  of the segment
-- @col    cell            BIGINT   from 0
-- @col    allocated_bytes BIGINT
-- @col    pending_bytes   BIGINT
-- @why    What is drawn cell by cell.
WITH
  segment AS (
    SELECT part[1]::UBIGINT AS address, part[2]::UBIGINT AS total_bytes, part[3]::UBIGINT AS cell_bytes
    FROM (SELECT string_split(unnest(string_split($segments, ',')), ' ') AS part) WHERE len(part) = 3),
  block AS (
    SELECT segment.address, cell_bytes, live.state = 'active_pending_free' AS is_pending, live.address - segment.address AS first_byte,
      least(total_bytes, live.address - segment.address + live.actual_bytes::UBIGINT) AS end_byte
    FROM live_at($snapshot_id, $device, $at_seq) AS live ASOF JOIN segment ON live.address >= segment.address
    WHERE live.address < segment.address + total_bytes),
  part AS (
    SELECT *, unnest(range((first_byte // cell_bytes)::BIGINT, ((end_byte + cell_bytes - 1) // cell_bytes)::BIGINT)) AS cell FROM block),
  filled AS (
    SELECT address, cell, is_pending,
      least(end_byte::BIGINT, (cell + 1) * cell_bytes::BIGINT) - greatest(first_byte::BIGINT, cell * cell_bytes::BIGINT) AS bytes
    FROM part)
SELECT address, cell, coalesce(sum(bytes) FILTER (NOT is_pending), 0)::BIGINT AS allocated_bytes,
  coalesce(sum(bytes) FILTER (is_pending), 0)::BIGINT AS pending_bytes
FROM filled
GROUP BY address, cell
ORDER BY address, cell
