-- @name   store.lacks_derived
-- @title  Whether lifetimes, labels or sites are missing, or of older rules
-- @param  history_rules INTEGER
-- @param  label_rules   INTEGER
-- @col    lacks_lifetimes BOOLEAN
-- @col    lacks_labels    BOOLEAN  or sites
-- @why    A store of an older version is brought up to date when it is opened.
SELECT
  EXISTS (
    FROM snapshot_device AS device ANTI JOIN (FROM derived_history WHERE rules = $history_rules) AS done
      ON done.snapshot_id = device.snapshot_id AND done.device = device.device) AS lacks_lifetimes,
  EXISTS (
    FROM snapshot_device AS device ANTI JOIN (FROM labelled_device WHERE rules = $label_rules) AS done
      ON done.snapshot_id = device.snapshot_id AND done.device = device.device)
  OR EXISTS (FROM stack WHERE site IS NULL AND depth > 0) AS lacks_labels
LIMIT 1
