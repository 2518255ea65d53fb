-- @name   outside.pairs
-- @title  What PyTorch of one rank held, with the sample of its device that is nearest in time
-- @param  run_id   INTEGER
-- @param  rank     INTEGER?
-- @param  source_id INTEGER? of the samples; NULL: only records that contain both figures
-- @param  host     VARCHAR?
-- @param  device   INTEGER?
-- @param  gpu      VARCHAR?
-- @param  pid      BIGINT?  of the rank's own process
-- @param  shift_us BIGINT?  from printed clocks to UTC; NULL: not known, so that only equal clocks meet
-- @param  reach_us BIGINT   farthest sample that still counts
-- @uses   _outside.readings
-- @col    time_us        BIGINT?  UTC where the shift is known, else by the record's own clock
-- @col    clock          VARCHAR
-- @col    iteration      BIGINT?
-- @col    kind           VARCHAR  memory line, scalar, failure message: the source of PyTorch's figure
-- @col    reserved_bytes BIGINT
-- @col    used_bytes     BIGINT
-- @col    total_bytes    BIGINT?
-- @col    process_bytes  BIGINT?  own process, by the driver; NULL where no list of processes names it
-- @col    others_bytes   BIGINT?  all other processes of that sample; NULL where no list distinguishes them from the rank's own
-- @col    is_sampled     BOOLEAN  the device's figure is a sample, not of the same record
-- @col    apart_us       BIGINT?  between record and sample
-- @col    display_path   VARCHAR
-- @col    line           BIGINT
-- @why    Either neighbour may be the nearer one, so samples are searched on both sides. A record's own figure takes precedence over any
--         sample.
WITH
  records AS (
    SELECT row_number() OVER () AS nth, *, CASE WHEN $shift_us IS NULL THEN clock ELSE 'utc' END AS scale,
      time_us + CASE WHEN clock = 'printed' THEN coalesce($shift_us, 0) ELSE 0 END AS at_us
    FROM readings WHERE rank IS NOT DISTINCT FROM $rank),
  sampled AS (
    SELECT CASE WHEN $shift_us IS NULL THEN clock ELSE 'utc' END AS scale,
      time_us + CASE WHEN clock = 'printed' THEN coalesce($shift_us, 0) ELSE 0 END AS at_us, max(bytes) AS bytes
    FROM gauge
    WHERE run_id = $run_id AND source_id = $source_id AND metric = 'device_used' AND host IS NOT DISTINCT FROM $host
      AND device IS NOT DISTINCT FROM $device AND gpu IS NOT DISTINCT FROM $gpu AND time_us IS NOT NULL
    GROUP BY ALL),
  listed AS (
    SELECT CASE WHEN $shift_us IS NULL THEN clock ELSE 'utc' END AS scale,
      time_us + CASE WHEN clock = 'printed' THEN coalesce($shift_us, 0) ELSE 0 END AS at_us,
      sum(bytes) FILTER (pid = $pid) AS process_bytes, coalesce(sum(bytes) FILTER (pid IS DISTINCT FROM $pid), 0) AS others_bytes
    FROM gauge
    WHERE run_id = $run_id AND metric = 'process_used' AND time_us IS NOT NULL
      AND (host IS NOT DISTINCT FROM $host OR host IS NULL OR $host IS NULL)
      AND ((device IS NOT NULL AND device IS NOT DISTINCT FROM $device) OR (device IS NULL AND gpu IS NOT DISTINCT FROM $gpu)
        OR ($device IS NULL AND gpu IS NOT DISTINCT FROM $gpu))
    GROUP BY ALL),
  sides AS (
    SELECT records.nth, before.at_us, before.bytes FROM records
      ASOF JOIN sampled AS before ON before.scale = records.scale AND before.at_us <= records.at_us
    UNION ALL
    SELECT records.nth, after.at_us, after.bytes FROM records
      ASOF JOIN sampled AS after ON after.scale = records.scale AND after.at_us > records.at_us),
  nearest AS (
    SELECT records.nth, arg_min(sides.bytes, abs(sides.at_us - records.at_us)) AS bytes, min(abs(sides.at_us - records.at_us)) AS apart_us
    FROM records JOIN sides USING (nth) WHERE abs(sides.at_us - records.at_us) <= $reach_us GROUP BY records.nth),
  list_sides AS (
    SELECT records.nth, before.at_us, before.process_bytes, before.others_bytes FROM records
      ASOF JOIN listed AS before ON before.scale = records.scale AND before.at_us <= records.at_us
    UNION ALL
    SELECT records.nth, after.at_us, after.process_bytes, after.others_bytes FROM records
      ASOF JOIN listed AS after ON after.scale = records.scale AND after.at_us > records.at_us),
  nearest_list AS (
    SELECT records.nth, arg_min(struct_pack(p := list_sides.process_bytes, o := list_sides.others_bytes),
      abs(list_sides.at_us - records.at_us)) AS list
    FROM records JOIN list_sides USING (nth) WHERE abs(list_sides.at_us - records.at_us) <= $reach_us GROUP BY records.nth)
SELECT coalesce(records.at_us, records.time_us) AS time_us, CASE WHEN $shift_us IS NULL THEN records.clock ELSE 'utc' END AS clock,
  records.iteration, records.kind, records.reserved_bytes, coalesce(records.used_bytes, nearest.bytes) AS used_bytes, records.total_bytes,
  coalesce(records.process_bytes, nearest_list.list.p)::BIGINT AS process_bytes,
  CASE WHEN $pid IS NOT NULL THEN nearest_list.list.o END::BIGINT AS others_bytes, records.used_bytes IS NULL AS is_sampled,
  CASE WHEN records.used_bytes IS NULL THEN nearest.apart_us END AS apart_us,
  records.display_path, records.line
FROM records LEFT JOIN nearest USING (nth) LEFT JOIN nearest_list USING (nth)
WHERE coalesce(records.used_bytes, nearest.bytes) IS NOT NULL
ORDER BY records.at_us NULLS LAST, records.display_path, records.line
