-- @name   outside.points
-- @title  Moments at which both are known: what PyTorch of one rank held, and what its device held; and figures over all of them
-- @param  run_id   INTEGER
-- @param  rank     INTEGER?
-- @param  is_sole  BOOLEAN  rows of unknown rank are of this rank
-- @param  source_id INTEGER? of the samples; NULL: only records that contain both figures
-- @param  host     VARCHAR?
-- @param  device   INTEGER?
-- @param  gpu      VARCHAR?
-- @param  pid      BIGINT?  of the rank's own process
-- @param  shift_us BIGINT?  from printed clocks to UTC; NULL: not known, so that only equal clocks meet
-- @param  interval_us DOUBLE? median distance of two samples
-- @param  most     INTEGER  so many moments, about: every nth, with the first, the last and both extremes
-- @uses   _outside.readings
-- @uses   _run.run_threshold
-- @col    time_us        BIGINT?  UTC where the shift is known, else by the record's own clock
-- @col    clock          VARCHAR
-- @col    iteration      BIGINT?
-- @col    kind           VARCHAR  memory line, scalar, failure message, trace: the source of PyTorch's figure
-- @col    reserved_bytes BIGINT
-- @col    used_bytes     BIGINT
-- @col    total_bytes    BIGINT?
-- @col    process_bytes  BIGINT?  own process, by the driver; NULL where no list of processes names it
-- @col    others_bytes   BIGINT?  all other processes of that sample; NULL where no list distinguishes them from the rank's own
-- @col    apart_us       BIGINT?  between record and sample; NULL where the record has the device's figure
-- @col    line           BIGINT?
-- @col    outside_bytes  BIGINT   used less reserved
-- @col    file           VARCHAR
-- @col    moments        BIGINT   in all
-- @col    device_bytes   BIGINT?  total of the device, of the first moment with one
-- @col    first_bytes    BIGINT   outside, of all moments
-- @col    last_bytes     BIGINT
-- @col    min_bytes      BIGINT
-- @col    median_bytes   BIGINT
-- @col    max_bytes      BIGINT
-- @col    growth_bytes   BIGINT?  of a straight line, from the first moment in time to the last; NULL with fewer than three
-- @col    growth_us      BIGINT?
-- @col    growth_r2      DOUBLE?  NULL for a flat line: there is nothing to explain
-- @why    Either neighbour may be the nearer one, so samples are searched on both sides. A record's own figure takes precedence over any
--         sample. Times of a trace are UTC; its reserved memory changes at segments alone, and at its end it is what the dump holds.
WITH
  -- Half the distance of two samples, plus the rounding of a clock of whole seconds.
  reach AS (
    SELECT CASE WHEN $interval_us IS NULL THEN lone_reach_us
      ELSE round(least(most_reach_us, greatest(least_reach_us, $interval_us / 2 + 1000000)))::BIGINT END AS us
    FROM run_threshold),
  records AS (
    SELECT row_number() OVER () AS nth, *, CASE WHEN $shift_us IS NULL THEN clock ELSE 'utc' END AS scale,
      time_us + CASE WHEN clock = 'printed' THEN coalesce($shift_us, 0) ELSE 0 END AS at_us
    FROM readings WHERE rank IS NOT DISTINCT FROM $rank OR (rank IS NULL AND $is_sole)),
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
    FROM records JOIN sides USING (nth) WHERE abs(sides.at_us - records.at_us) <= (SELECT us FROM reach)
    GROUP BY records.nth),
  list_sides AS (
    SELECT records.nth, before.at_us, before.process_bytes, before.others_bytes FROM records
      ASOF JOIN listed AS before ON before.scale = records.scale AND before.at_us <= records.at_us
    UNION ALL
    SELECT records.nth, after.at_us, after.process_bytes, after.others_bytes FROM records
      ASOF JOIN listed AS after ON after.scale = records.scale AND after.at_us > records.at_us),
  nearest_list AS (
    SELECT records.nth, arg_min(struct_pack(p := list_sides.process_bytes, o := list_sides.others_bytes),
      abs(list_sides.at_us - records.at_us)) AS list
    FROM records JOIN list_sides USING (nth) WHERE abs(list_sides.at_us - records.at_us) <= (SELECT us FROM reach)
    GROUP BY records.nth),
  held AS (
    SELECT snapshot.snapshot_id, snapshot.handle, device.device, device.reserved_bytes
    FROM snapshot JOIN snapshot_device AS device USING (snapshot_id)
    WHERE snapshot.run_id = $run_id AND $source_id IS NOT NULL
      AND (snapshot.rank IS NOT DISTINCT FROM $rank OR (snapshot.rank IS NULL AND $is_sole))),
  change AS (
    SELECT event.snapshot_id, event.device, event.seq, event.time_us,
      coalesce(sum(CASE WHEN event.action IN ('segment_alloc', 'segment_map') THEN event.size_bytes
        WHEN event.action IN ('segment_free', 'segment_unmap') THEN -event.size_bytes END)
        OVER (PARTITION BY event.snapshot_id, event.device ORDER BY event.seq), 0) AS delta_bytes
    FROM event JOIN held ON held.snapshot_id = event.snapshot_id AND held.device = event.device
    WHERE event.time_us IS NOT NULL),
  recorded AS (
    SELECT held.*, arg_max(delta_bytes, seq) AS delta_bytes, min(time_us) AS first_us, max(time_us) AS last_us
    FROM change JOIN held USING (snapshot_id, device) GROUP BY ALL HAVING max(time_us) > min(time_us)),
  traced AS (
    SELECT snapshot_id, device, time_us, arg_max(delta_bytes, seq) AS delta_bytes FROM change GROUP BY snapshot_id, device, time_us),
  moment AS (
    SELECT coalesce(records.at_us, records.time_us) AS time_us, CASE WHEN $shift_us IS NULL THEN records.clock ELSE 'utc' END AS clock,
      records.iteration, records.kind, records.reserved_bytes, coalesce(records.used_bytes, nearest.bytes) AS used_bytes,
      records.total_bytes, coalesce(records.process_bytes, nearest_list.list.p)::BIGINT AS process_bytes,
      CASE WHEN $pid IS NOT NULL THEN nearest_list.list.o END::BIGINT AS others_bytes,
      CASE WHEN records.used_bytes IS NULL THEN nearest.apart_us END AS apart_us, records.line, records.display_path AS file,
      0 AS nth, records.rank, 0 AS trace
    FROM records LEFT JOIN nearest USING (nth) LEFT JOIN nearest_list USING (nth)
    WHERE coalesce(records.used_bytes, nearest.bytes) IS NOT NULL
    UNION ALL
    SELECT sample.at_us, 'utc', NULL, 'trace', (sample.reserved_bytes - sample.delta_bytes + traced.delta_bytes)::BIGINT, sample.bytes,
      NULL, NULL, NULL, 0, NULL, sample.handle, 1, NULL, sample.snapshot_id * 1000 + sample.device
    FROM (SELECT * FROM sampled JOIN recorded ON sampled.scale = 'utc' AND at_us BETWEEN first_us AND last_us) AS sample
    ASOF JOIN traced ON traced.snapshot_id = sample.snapshot_id AND traced.device = sample.device AND traced.time_us <= sample.at_us),
  point AS (
    SELECT *, used_bytes - reserved_bytes AS outside_bytes,
      row_number() OVER (ORDER BY time_us NULLS LAST, nth, rank NULLS FIRST, trace, file, line) - 1 AS place,
      time_us - min(time_us) OVER () AS after_us
    FROM moment),
  total AS (
    SELECT count(*) AS moments, arg_min(total_bytes, place) FILTER (total_bytes IS NOT NULL) AS device_bytes,
      arg_min(outside_bytes, place) AS first_bytes, arg_max(outside_bytes, place) AS last_bytes, min(outside_bytes) AS min_bytes,
      quantile_disc(outside_bytes, 0.5) AS median_bytes, max(outside_bytes) AS max_bytes,
      CASE WHEN count(after_us) >= any_value(fewest_points) THEN regr_slope(outside_bytes, after_us) END AS slope,
      CASE WHEN slope IS NOT NULL THEN max(after_us) END AS growth_us, round(slope * growth_us)::BIGINT AS growth_bytes,
      CASE WHEN slope IS NOT NULL AND min(outside_bytes) FILTER (after_us IS NOT NULL) < max(outside_bytes) FILTER (after_us IS NOT NULL)
        THEN regr_r2(outside_bytes, after_us) END AS growth_r2,
      arg_min(place, {bytes: outside_bytes, place: place}) AS least_place,
      arg_max(place, {bytes: outside_bytes, place: -place}) AS most_place
    FROM point CROSS JOIN run_threshold)
SELECT time_us, clock, iteration, kind, reserved_bytes, used_bytes, total_bytes, process_bytes, others_bytes, apart_us, line, outside_bytes,
  file, moments, device_bytes, first_bytes, last_bytes, min_bytes, median_bytes, max_bytes, growth_bytes, growth_us, growth_r2
FROM point CROSS JOIN total
WHERE moments <= $most OR place % ceil(moments / ($most - 3))::BIGINT = 0 OR place IN (least_place, most_place, moments - 1)
ORDER BY place
