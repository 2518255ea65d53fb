-- @name   nsys.busy_times
-- @title  How long each device computed, communicated and copied, per training step and on average
-- @param  source_id INTEGER
-- @param  steps     VARCHAR  JSON: index, pid, start_ns and end_ns of each; those of one process do not overlap
-- @param  from_ns   BIGINT   window of a device without steps
-- @param  to_ns     BIGINT
-- @uses   _nsys.gpu_work
-- @col    pid        INTEGER? NULL: not known
-- @col    device     INTEGER? NULL: not known
-- @col    step       BIGINT?  NULL: the average of all steps but the first, or the window
-- @col    window_ns  DOUBLE
-- @col    idle_ns    DOUBLE
-- @col    compute_ns DOUBLE
-- @col    communication_ns         DOUBLE  of any kind
-- @col    exposed_communication_ns DOUBLE  while nothing was computed
-- @col    collectives_ns           DOUBLE
-- @col    exposed_collectives_ns   DOUBLE
-- @col    sends_ns                 DOUBLE
-- @col    exposed_sends_ns         DOUBLE
-- @col    other_ns                 DOUBLE
-- @col    exposed_other_ns         DOUBLE
-- @col    copy_ns                  DOUBLE
-- @col    exposed_copy_ns          DOUBLE  while nothing else was done
-- @why    Streams run side by side: their times must be joined and never added. The time is cut at every begin and end of work and of a
--         step; each slice counts once for everything that ran in it. A report of one process may have its ranges on another (a
--         launcher's); then all steps apply to all processes.
WITH given AS (
  SELECT unnest(from_json($steps, '[{"index":"BIGINT","pid":"INTEGER","start_ns":"BIGINT","end_ns":"BIGINT"}]'), recursive := true)),
devices AS (SELECT DISTINCT pid, device FROM gpu_work),
device_steps AS (
  SELECT devices.pid, devices.device, "index" AS step, start_ns, end_ns
  FROM devices JOIN given ON given.pid = devices.pid
    OR ((SELECT count(DISTINCT coalesce(pid, -1)) FROM given) = 1 AND devices.pid IS DISTINCT FROM (SELECT any_value(pid) FROM given))),
windows AS (
  SELECT *, row_number() OVER (PARTITION BY pid, device ORDER BY start_ns, end_ns) AS nth, count(*) OVER (PARTITION BY pid, device) AS steps
  FROM (
    FROM device_steps
    UNION ALL
    SELECT pid, device, NULL, $from_ns, $to_ns FROM devices
    WHERE (coalesce(pid, -1), coalesce(device, -1)) NOT IN (SELECT (coalesce(pid, -1), coalesce(device, -1)) FROM device_steps))),
work AS (
  SELECT pid, device, start_ns, end_ns, CASE kind WHEN 'compute' THEN 1 WHEN 'collective' THEN 1::HUGEINT << 20
    WHEN 'send' THEN 1::HUGEINT << 40 WHEN 'other' THEN 1::HUGEINT << 60 ELSE 1::HUGEINT << 80 END AS one, 0 AS opens
  FROM gpu_work
  UNION ALL SELECT pid, device, start_ns, end_ns, 1::HUGEINT << 100, 1 FROM windows),
ticks AS (
  SELECT pid, device, start_ns AS at_ns, one AS change, opens FROM work
  UNION ALL SELECT pid, device, end_ns, -one, 0 FROM work),
-- One sum counts what runs of every kind, each in 20 bits of its own: a sum for each takes twice as long in all.
slices AS (
  SELECT pid, device, lead(at_ns) OVER ticked - at_ns AS ns, sum(change) OVER ticked AS running, sum(opens) OVER ticked AS nth
  FROM ticks WINDOW ticked AS (PARTITION BY pid, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING)),
combinations AS (
  SELECT pid, device, nth, sum(ns) AS ns, running & 1048575 > 0 AS computes, (running >> 20) & 1048575 > 0 AS collects,
    (running >> 40) & 1048575 > 0 AS sends, (running >> 60) & 1048575 > 0 AS others, (running >> 80) & 1048575 > 0 AS copies
  FROM slices WHERE running >> 100 > 0 AND ns > 0 GROUP BY ALL),
budgets AS (
  SELECT windows.pid, windows.device, windows.step, windows.nth, windows.steps, windows.end_ns - windows.start_ns AS window_ns,
    coalesce(sum(ns) FILTER (NOT (computes OR collects OR sends OR others OR copies)), 0) AS idle_ns,
    coalesce(sum(ns) FILTER (computes), 0) AS compute_ns,
    coalesce(sum(ns) FILTER (collects OR sends OR others), 0) AS communication_ns,
    coalesce(sum(ns) FILTER ((collects OR sends OR others) AND NOT computes), 0) AS exposed_communication_ns,
    coalesce(sum(ns) FILTER (collects), 0) AS collectives_ns,
    coalesce(sum(ns) FILTER (collects AND NOT computes), 0) AS exposed_collectives_ns,
    coalesce(sum(ns) FILTER (sends), 0) AS sends_ns,
    coalesce(sum(ns) FILTER (sends AND NOT computes), 0) AS exposed_sends_ns,
    coalesce(sum(ns) FILTER (others), 0) AS other_ns,
    coalesce(sum(ns) FILTER (others AND NOT computes), 0) AS exposed_other_ns,
    coalesce(sum(ns) FILTER (copies), 0) AS copy_ns,
    coalesce(sum(ns) FILTER (copies AND NOT (computes OR collects OR sends OR others)), 0) AS exposed_copy_ns
  FROM windows LEFT JOIN combinations ON combinations.pid IS NOT DISTINCT FROM windows.pid
    AND combinations.device IS NOT DISTINCT FROM windows.device AND combinations.nth = windows.nth
  GROUP BY ALL)
SELECT pid, device, step, COLUMNS('_ns$')::DOUBLE FROM budgets WHERE step IS NOT NULL
UNION ALL
SELECT pid, device, NULL, avg(COLUMNS('_ns$')) FROM budgets WHERE nth > 1 OR steps = 1 GROUP BY pid, device
ORDER BY pid NULLS FIRST, device NULLS FIRST, step NULLS FIRST
