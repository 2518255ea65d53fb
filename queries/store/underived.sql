-- @name   store.underived
-- @title  Runs whose labels or conclusions are missing, or by other rules
-- @param  rules       INTEGER  of conclusions
-- @param  label_rules INTEGER
-- @col    run_id      INTEGER
-- @why    An ingest that was killed leaves such runs; they are derived when the store is opened.
SELECT run_id FROM run ANTI JOIN (FROM judged_run WHERE rules = $rules) AS done USING (run_id)
UNION
SELECT snapshot.run_id
FROM snapshot_device AS device
JOIN snapshot ON snapshot.snapshot_id = device.snapshot_id
WHERE NOT EXISTS (
  FROM labelled_device AS done
  WHERE done.snapshot_id = device.snapshot_id AND done.device = device.device AND done.rules = $label_rules)
ORDER BY run_id
