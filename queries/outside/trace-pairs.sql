-- @name   outside.trace_pairs
-- @title  Samples of a device within a recording of its allocator, with what the allocator held at that moment
-- @param  run_id      INTEGER
-- @param  snapshot_id INTEGER
-- @param  trace_device INTEGER ordinal of the process
-- @param  source_id   INTEGER  of the samples
-- @param  host        VARCHAR?
-- @param  device      INTEGER?
-- @param  gpu         VARCHAR?
-- @param  shift_us    BIGINT   from the samples' clock to UTC
-- @col    time_us        BIGINT
-- @col    reserved_bytes BIGINT
-- @col    used_bytes     BIGINT
-- @why    Times of a trace are UTC. Reserved memory changes at segments alone; at the trace's end it is what the dump holds.
WITH
  change AS (
    SELECT seq, time_us,
      coalesce(sum(CASE WHEN action IN ('segment_alloc', 'segment_map') THEN size_bytes
        WHEN action IN ('segment_free', 'segment_unmap') THEN -size_bytes END) OVER (ORDER BY seq), 0) AS reserved_delta_bytes
    FROM event WHERE snapshot_id = $snapshot_id AND device = $trace_device AND time_us IS NOT NULL),
  finish AS (SELECT arg_max(reserved_delta_bytes, seq) AS delta_bytes, min(time_us) AS first_us, max(time_us) AS last_us FROM change),
  held AS (SELECT reserved_bytes FROM snapshot_device WHERE snapshot_id = $snapshot_id AND device = $trace_device),
  steps AS (SELECT time_us, arg_max(reserved_delta_bytes, seq) AS delta_bytes FROM change GROUP BY time_us),
  sampled AS (
    SELECT time_us + $shift_us AS time_us, max(bytes) AS bytes
    FROM gauge
    WHERE run_id = $run_id AND source_id = $source_id AND metric = 'device_used' AND host IS NOT DISTINCT FROM $host
      AND device IS NOT DISTINCT FROM $device AND gpu IS NOT DISTINCT FROM $gpu AND time_us IS NOT NULL
    GROUP BY ALL)
SELECT sampled.time_us, (held.reserved_bytes - finish.delta_bytes + steps.delta_bytes)::BIGINT AS reserved_bytes,
  sampled.bytes AS used_bytes
FROM sampled ASOF JOIN steps ON steps.time_us <= sampled.time_us, finish, held
WHERE sampled.time_us BETWEEN finish.first_us AND finish.last_us
ORDER BY sampled.time_us
