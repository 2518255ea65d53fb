-- @name   attribution.labelled
-- @title  A device whose blocks have labels by these rules
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  rules       INTEGER  version of the built-in rules
-- @col    device INTEGER
-- @why    A store that cannot be written may lack labels; then they are made for the question.
SELECT device FROM labelled_device WHERE snapshot_id = $snapshot_id AND device = $device AND rules = $rules LIMIT 1
