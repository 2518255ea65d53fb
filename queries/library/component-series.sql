-- @name   library.component_series
-- @kind   macro
-- @title  Live memory by component in ranges of a trace, each at the entry after which most is live
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  range_firsts VARCHAR  first entries, ascending: 0,500
-- @param  range_lasts  VARCHAR  last entries, in the same order: 499,999
-- @col    nth        INTEGER  number of the range, from 0
-- @col    moment_seq INTEGER? entry after which most is live in the range; the first of them
-- @col    component  VARCHAR?
-- @col    bytes      BIGINT  actual sizes
-- @why    One pass: changes are summed by range, before and after its largest total, so that no range reads all lifetimes. The first range
--         includes the state before its first entry. A range without entries (0,,500) has the state at the end of the one before it.
WITH given AS (
  SELECT TRY_CAST(string_split(range_firsts, ',') AS INTEGER[]) AS firsts, TRY_CAST(string_split(range_lasts, ',') AS INTEGER[]) AS lasts),
slice AS (SELECT unnest(range(len(firsts)))::INTEGER AS nth, unnest(firsts) AS first_seq FROM given),
reach AS (SELECT list_min(firsts) - 1 AS begin_seq, list_max(lasts) AS until_seq FROM given),
life AS (
  SELECT from_seq, to_seq, label, actual_bytes, begin_seq, until_seq
  FROM block_life, reach
  WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq <= until_seq AND to_seq > begin_seq),
-- What holds when a range begins is a total of it too.
start AS (SELECT CASE WHEN nth = 0 THEN first_seq - 1 ELSE first_seq END AS seq, nth FROM slice WHERE first_seq IS NOT NULL),
change AS (
  SELECT begin_seq AS seq, label, sum(actual_bytes)::BIGINT AS bytes FROM life WHERE from_seq <= begin_seq GROUP BY ALL
  UNION ALL SELECT from_seq, label, actual_bytes FROM life WHERE from_seq > begin_seq
  UNION ALL SELECT to_seq, label, -actual_bytes FROM life WHERE to_seq <= until_seq
  UNION ALL SELECT seq, NULL, 0 FROM start),
entry AS (
  SELECT change.seq, change.label, change.bytes, start.nth FROM change LEFT JOIN start ON start.seq = change.seq),
total AS (
  SELECT seq, label, bytes, max(nth) OVER entries AS nth, sum(bytes) OVER entries AS active
  FROM entry
  WINDOW entries AS (ORDER BY seq RANGE UNBOUNDED PRECEDING)),
most AS (SELECT nth, max(active) AS active FROM total GROUP BY nth),
moment AS (
  SELECT total.nth, min(total.seq) AS seq FROM total JOIN most ON most.nth = total.nth AND most.active = total.active GROUP BY total.nth),
part AS (
  SELECT total.label, CASE WHEN total.seq <= moment.seq THEN total.nth ELSE total.nth + 1 END AS nth, sum(total.bytes) AS bytes
  FROM total JOIN moment ON moment.nth = total.nth
  GROUP BY ALL),
of_component AS (
  SELECT part.nth, label.component, sum(part.bytes) AS bytes
  FROM part
  LEFT JOIN label ON label.snapshot_id = snapshot_key AND label.device = device_no AND label.label = part.label
  GROUP BY ALL),
cell AS (
  SELECT slice.nth, named.component
  FROM slice CROSS JOIN (SELECT DISTINCT component FROM of_component) AS named),
running AS (
  SELECT cell.nth, cell.component, sum(of_component.bytes) OVER (PARTITION BY cell.component ORDER BY cell.nth) AS bytes
  FROM cell
  LEFT JOIN of_component ON of_component.nth = cell.nth AND of_component.component IS NOT DISTINCT FROM cell.component)
SELECT running.nth, moment.seq AS moment_seq, running.component, running.bytes::BIGINT AS bytes
FROM running
LEFT JOIN moment ON moment.nth = running.nth
WHERE running.bytes <> 0
