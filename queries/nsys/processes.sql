-- @name   nsys.processes
-- @title  Processes of a report, and the devices they worked on
-- @param  source_id INTEGER
-- @col    pid         INTEGER
-- @col    name        VARCHAR?
-- @col    rank        INTEGER?
-- @col    rank_origin VARCHAR?
-- @col    devices     INTEGER[] CUDA ordinals inside the process, most work first
-- @why    A capture of torchrun contains every rank of a node; only the processes distinguish them.
WITH work AS (
  SELECT pid, device, count(*) AS events FROM nsys_kernel WHERE source_id = $source_id GROUP BY pid, device
  UNION ALL SELECT pid, device, count(*) FROM nsys_copy WHERE source_id = $source_id GROUP BY pid, device
  UNION ALL SELECT pid, device, count(*) FROM nsys_memory WHERE source_id = $source_id AND kind NOT IN ('pageable', 'pinned')
    GROUP BY pid, device),
devices AS (
  SELECT pid, list(device ORDER BY events DESC, device) AS devices
  FROM (SELECT pid, device, sum(events) AS events FROM work WHERE device IS NOT NULL GROUP BY pid, device) GROUP BY pid)
SELECT process.pid, process.name, process.rank, process.rank_origin, coalesce(devices.devices, []) AS devices
FROM nsys_process AS process LEFT JOIN devices USING (pid)
WHERE process.source_id = $source_id
ORDER BY process.pid
