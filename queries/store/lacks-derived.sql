-- @name   store.lacks_derived
-- @title  Whether lifetimes, labels, sites or facts of failures are missing, or of older rules
-- @param  history_rules INTEGER
-- @param  label_rules   INTEGER
-- @param  fact_rules    INTEGER
-- @col    lacks_lifetimes BOOLEAN
-- @col    lacks_others    BOOLEAN  labels, sites or facts
-- @why    A store of an older version is brought up to date when it is opened.
SELECT
  EXISTS (
    FROM snapshot_device AS device ANTI JOIN (FROM derived_history WHERE rules = $history_rules) AS done
      ON done.snapshot_id = device.snapshot_id AND done.device = device.device) AS lacks_lifetimes,
  EXISTS (
    FROM snapshot_device AS device ANTI JOIN (FROM labelled_device WHERE rules = $label_rules) AS done
      ON done.snapshot_id = device.snapshot_id AND done.device = device.device)
  OR EXISTS (FROM stack WHERE site IS NULL AND depth > 0)
  OR EXISTS (FROM run ANTI JOIN (FROM judged_run WHERE rules = $fact_rules) AS done ON done.run_id = run.run_id) AS lacks_others
LIMIT 1
