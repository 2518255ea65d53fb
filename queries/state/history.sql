-- @name   state.history
-- @title  What the walk over a device's trace found out
-- @param  snapshot_id INTEGER
-- @param  device INTEGER
-- @col    events              INTEGER
-- @col    blocks              INTEGER  blocks that were live at any moment
-- @col    holds               BOOLEAN  nothing contradicts the allocator's rules, a skew of the last few entries aside
-- @col    ends_in_dump        BOOLEAN  forward from the start the trace ends in the dumped state
-- @col    starts_empty        BOOLEAN
-- @col    violations          INTEGER
-- @col    implied_completions INTEGER
-- @col    requests_recorded   BOOLEAN  free_requested entries are in the recording
-- @col    completions_recorded BOOLEAN
-- @col    peak_active_bytes   BIGINT   actual sizes
-- @col    peak_active_seq     INTEGER? NULL: before the first entry
-- @col    peak_reserved_bytes BIGINT
-- @col    peak_reserved_seq   INTEGER?
-- @col    uncertain_blocks    INTEGER  of the start state
-- @col    uncertain_bytes     BIGINT
-- @col    bucket_entries      INTEGER  entries a row of derived_bucket
-- @col    steps_origin        VARCHAR? profiler_step or optimizer_step; NULL: no annotation marks steps
-- @col    steps_annotations   VARCHAR? JSON list of the names used
-- @col    steps_annotations_device INTEGER? the device they name, where it is another one
-- @col    steps_without_entries INTEGER
-- @col    pooled              BOOLEAN  entries name other pools than the default one
-- @why    Derived while ingesting: a walk over five million entries takes seconds.
SELECT
  history.events, history.blocks, history.holds, history.ends_in_dump, history.starts_empty, history.violations,
  history.implied_completions, history.requests_recorded, history.completions_recorded, history.peak_active_bytes,
  history.peak_active_seq, history.peak_reserved_bytes, history.peak_reserved_seq, history.uncertain_blocks, history.uncertain_bytes,
  history.bucket_entries, history.steps_origin, history.steps_annotations, history.steps_annotations_device,
  history.steps_without_entries, history.pooled
FROM derived_history AS history
WHERE history.snapshot_id = $snapshot_id AND history.device = $device
LIMIT 1
