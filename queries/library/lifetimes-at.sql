-- @name   library.lifetimes_at
-- @kind   macro
-- @title  Blocks that are live after one entry of a trace, and whether they outlive their step
-- @param  snapshot_key INTEGER  snapshot_id
-- @param  device_no    INTEGER
-- @param  at_seq       INTEGER  -1 = before the first entry, or the dump of a device without a trace
-- @col    block           INTEGER
-- @col    address         UBIGINT
-- @col    requested_bytes BIGINT?
-- @col    actual_bytes    BIGINT
-- @col    alloc_seq       INTEGER? NULL: before the first entry
-- @col    alloc_us        BIGINT?
-- @col    stack_id        INTEGER?
-- @col    stack_origin    ENUM
-- @col    compile_context_id INTEGER?
-- @col    user_metadata_id   INTEGER?
-- @col    label           INTEGER?
-- @col    lifetime        VARCHAR? resident, transient or unknown; NULL: the device lacks a trace, or frees were not recorded
-- @why    The step of a moment reaches from the last boundary at or before it, or from before the recording, to the first one after it.
--         A block that was live from one boundary to the next is resident: it lived through a whole step. So is one that is live at the
--         end of the step. One that is freed before is transient if its allocation was recorded, else unknown: it may be of any age. If
--         the trace ends inside the step, a block that is not freed is resident if it was allocated before the step, else unknown.
--         Without boundaries the whole trace is the step: freed after the moment is transient, except for memory from before a truncated
--         ring; not freed is resident if it is older than the trace, or if anything is freed after the moment, else unknown.
--         A block is live at the moment, so the two boundaries before and the two after it decide whether it has two of them.
WITH recorded AS (
  SELECT
    EXISTS (FROM snapshot_action WHERE snapshot_id = snapshot_key AND device = device_no AND action = 'free_completed') AS completions,
    EXISTS (FROM snapshot_action WHERE snapshot_id = snapshot_key AND device = device_no AND action = 'free_requested') AS requests),
moment AS (
  SELECT completions, completions OR requests AS frees,
    (SELECT min(time_us) FROM event WHERE snapshot_id = snapshot_key AND device = device_no AND seq = at_seq) AS now_us,
    EXISTS (
      FROM ingest_note JOIN snapshot ON snapshot.source_id = ingest_note.source_id
      WHERE snapshot.snapshot_id = snapshot_key AND ingest_note.device = device_no
        AND ingest_note.kind IN ('ring_truncated', 'ring_probably_truncated')) AS is_truncated,
    CASE WHEN completions
      THEN EXISTS (FROM event WHERE snapshot_id = snapshot_key AND device = device_no AND seq > at_seq AND action = 'free_completed')
      ELSE EXISTS (FROM event WHERE snapshot_id = snapshot_key AND device = device_no AND seq > at_seq AND action = 'free_requested')
    END AS frees_follow
  FROM recorded),
boundary AS (
  SELECT DISTINCT mark.mark_us
  FROM derived_history AS history
  JOIN (
    SELECT 'profiler_step' AS origin, start_us AS mark_us FROM trace_step WHERE snapshot_id = snapshot_key AND device = device_no
    UNION ALL
    SELECT 'profiler_step', arg_max(end_us, ordinal) FROM trace_step WHERE snapshot_id = snapshot_key AND device = device_no
    UNION ALL
    SELECT 'optimizer_step', end_us FROM trace_step WHERE snapshot_id = snapshot_key AND device = device_no) AS mark
    ON mark.origin = history.steps_origin
  WHERE history.snapshot_id = snapshot_key AND history.device = device_no AND mark.mark_us IS NOT NULL),
around AS (
  SELECT count(boundary.mark_us) > 0 AS has_steps, max(boundary.mark_us, 2) FILTER (boundary.mark_us <= moment.now_us) AS before,
    min(boundary.mark_us, 2) FILTER (moment.now_us IS NULL OR boundary.mark_us > moment.now_us) AS after
  FROM moment LEFT JOIN boundary ON true),
life AS (
  SELECT *, CASE WHEN from_seq >= 0 THEN from_seq END AS alloc_seq,
    CASE WHEN (SELECT completions FROM recorded) OR pending_seq <= at_seq THEN to_seq ELSE least(pending_seq, to_seq) END AS end_seq
  FROM block_life
  WHERE snapshot_id = snapshot_key AND device = device_no AND from_seq <= at_seq AND to_seq > at_seq),
-- Where completions were not recorded, the time of an end is that of its entry.
ending AS (
  SELECT seq, time_us FROM event
  WHERE snapshot_id = snapshot_key AND device = device_no
    AND seq IN (SELECT end_seq FROM life WHERE free_us IS NULL AND end_seq < 2147483647)),
timed AS (
  SELECT life.*, CASE WHEN life.end_seq < 2147483647 THEN coalesce(life.free_us, ending.time_us, 0) END AS end_us
  FROM life LEFT JOIN ending ON ending.seq = life.end_seq)
SELECT
  timed.block, timed.address, timed.requested_bytes, timed.actual_bytes, timed.alloc_seq, timed.alloc_us, timed.stack_id,
  timed.stack_origin, timed.compile_context_id, timed.user_metadata_id, timed.label,
  CASE
    WHEN NOT moment.frees THEN NULL
    WHEN NOT around.has_steps THEN CASE
      WHEN timed.end_us IS NOT NULL THEN CASE WHEN timed.alloc_seq IS NULL AND moment.is_truncated THEN 'unknown' ELSE 'transient' END
      WHEN timed.alloc_seq IS NULL OR moment.frees_follow THEN 'resident' ELSE 'unknown' END
    WHEN around.before[2] >= coalesce(timed.alloc_us, -9223372036854775808)
      OR (around.before[1] >= coalesce(timed.alloc_us, -9223372036854775808)
        AND around.after[1] <= coalesce(timed.end_us, 9223372036854775807))
      OR around.after[2] <= coalesce(timed.end_us, 9223372036854775807) THEN 'resident'
    WHEN timed.end_us IS NOT NULL AND (around.after[1] IS NULL OR timed.end_us < around.after[1])
      THEN CASE WHEN timed.alloc_seq IS NULL THEN 'unknown' ELSE 'transient' END
    WHEN around.after[1] IS NOT NULL THEN 'resident'
    WHEN timed.alloc_seq IS NULL OR timed.alloc_us < around.before[1] THEN 'resident'
    ELSE 'unknown' END AS lifetime
FROM timed, moment, around
