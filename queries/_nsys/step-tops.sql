-- @name   _nsys.step_tops
-- @title  The outermost ranges that repeat, in order of time
-- @param  source_id INTEGER
-- @uses   _nsys.step_ranges
-- @uses   _nsys.step_groups
-- @col    lane      BIGINT
-- @col    template  VARCHAR
-- @col    kind      VARCHAR
-- @col    numbering VARCHAR
-- @col    name      VARCHAR
-- @col    start_ns  BIGINT
-- @col    end_ns    BIGINT
-- @col    gap_ns    BIGINT?  since the end of the range before it
-- @col    lead_ns   BIGINT?  until the end of the next range of the same text
-- @why    What repeats inside of these is a part of them. What is there only once, as the whole run, contains steps, and so does an
--         epoch.
WITH repeating AS (
  SELECT ranges.*, groups.numbering, max(ranges.end_ns) OVER (PARTITION BY ranges.lane
    ORDER BY ranges.start_ns, ranges.end_ns DESC, ranges.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_ns
  FROM step_ranges AS ranges JOIN step_groups AS groups USING (lane, template)
  WHERE groups.count >= 2 AND groups.kind <> 'epoch')
SELECT lane, template, kind, numbering, name, start_ns, end_ns,
  start_ns - lag(end_ns) OVER (PARTITION BY lane ORDER BY start_ns, end_ns, seq) AS gap_ns,
  lead(end_ns) OVER (PARTITION BY lane, template ORDER BY start_ns, end_ns, seq) - end_ns AS lead_ns
FROM repeating WHERE reached_ns IS NULL OR end_ns > reached_ns
