-- @name   library.golden_check
-- @kind   macro
-- @title  A run against the golden values of the store: peaks of memory, components, step time, throughput, loss, status
-- @param  checked_run VARCHAR  name of a run
-- @col    golden        VARCHAR  name of the golden values
-- @col    golden_runs   BIGINT   how many runs they are of
-- @col    check_name    VARCHAR  peak_allocated, peak_active, peak_reserved, component:…, step_time, throughput, loss, status
-- @col    unit          VARCHAR
-- @col    golden_value  DOUBLE?  median of the golden runs
-- @col    current_value DOUBLE?
-- @col    change        DOUBLE?  current less golden
-- @col    relative      DOUBLE?
-- @col    tolerance     DOUBLE?  least relative change that counts
-- @col    noise         DOUBLE?  half-width of what is uncertain of the change
-- @col    is_gate       BOOLEAN  whether it decides the verdict
-- @col    status        VARCHAR  pass, improvement, regression, undecided, info or skipped
-- @col    why           VARCHAR?
-- @why    The rules of the verb compare. A change is a regression if it exceeds the tolerance by more than the noise, and passes if it is
--         within it at two standard deviations; anything else is undecided. Noise is three standard deviations between runs, as assumed
--         and corrected by what the golden runs show, with what is uncertain of each figure. Lines of logs take precedence over snapshots;
--         first lines are compared with first lines, since Adam's states are born after them. Golden values in the form of Megatron-LM or
--         Megatron Bridge, stages and single ranks, the settings that must agree, stragglers, components where the peak includes a refused
--         request, and the reason of a failure are left to the verb.
WITH target AS (SELECT run_id FROM run WHERE name = checked_run),
document AS (
  SELECT name AS golden, position, document::JSON AS content FROM golden_run WHERE form = 'measurement'),
golden AS (SELECT golden, count(*) AS golden_runs FROM document GROUP BY golden),
rank_memory AS (
  SELECT
    golden, position, (item ->> '$.first_peak_allocated_bytes')::DOUBLE AS first_peak, (item ->> '$.peak_allocated_bytes')::DOUBLE AS peak,
    (item ->> '$.peak_reserved_bytes')::DOUBLE AS reserved, (item ->> '$.precision_bytes')::DOUBLE AS half_digit,
    (item ->> '$.first_iteration')::BIGINT AS first_iteration, (item ->> '$.last_iteration')::BIGINT AS last_iteration
  FROM (SELECT golden, position, unnest(json_extract(content, '$.ranks')::JSON[]) AS item FROM document) AS listed
  UNION ALL
  SELECT golden.golden, NULL, first_peak_allocated_bytes, peak_allocated_bytes, peak_reserved_bytes, precision_bytes, first_iteration,
    last_iteration
  FROM golden CROSS JOIN memory_of_ranks((SELECT run_id FROM target)) AS printed),
memory AS (
  SELECT
    golden, position, bool_or(peak IS NOT NULL AND last_iteration > coalesce(first_iteration, 0)) IS TRUE AS has_later,
    max(peak) AS peak, arg_max(half_digit, peak) AS peak_uncertain, max(first_peak) AS first_peak,
    arg_max(half_digit, first_peak) AS first_uncertain, max(reserved) AS reserved, arg_max(half_digit, reserved) AS reserved_uncertain
  FROM rank_memory GROUP BY golden, position),
later AS (SELECT golden, bool_and(has_later) AND count(*) FILTER (position IS NULL) = 1 AS is_later FROM memory GROUP BY golden),
device AS (
  SELECT
    known.*, row_number() OVER (ORDER BY known.rank NULLS FIRST) AS nth,
    state.allocated_bytes + state.pending_bytes + refused.requested_bytes AS oom_bytes
  FROM (
    SELECT * FROM devices_of(checked_run) AS every
    QUALIFY row_number() OVER (PARTITION BY every.rank
      ORDER BY coalesce(last_time_us, -1) DESC, snapshot_id DESC, ooms > 0 DESC, has_trace DESC, reserved_bytes DESC, device) = 1) AS known
  LEFT JOIN oom_state AS state ON state.snapshot_id = known.snapshot_id AND state.device = known.device
  LEFT JOIN trace_oom AS refused
    ON refused.snapshot_id = state.snapshot_id AND refused.device = state.device AND refused.seq = state.seq
  QUALIFY nth <= 4),
current_peak AS (
  SELECT
    device.*, history.peak_active_bytes, oom_bytes > history.peak_active_bytes IS TRUE AS is_refused
  FROM device
  JOIN derived_history AS history ON history.snapshot_id = device.snapshot_id AND history.device = device.device),
golden_peak AS (
  SELECT
    golden, position, (item ->> '$.rank')::INTEGER AS rank, (item ->> '$.active_bytes')::DOUBLE AS active,
    json_extract(item, '$.components') AS components, nth
  FROM (
    SELECT golden, position, unnest(json_extract(content, '$.peaks')::JSON[]) AS item,
      generate_subscripts(json_extract(content, '$.peaks')::JSON[], 1) AS nth
    FROM document) AS listed),
pair AS (
  SELECT golden_peak.golden, golden_peak.rank AS golden_rank, current_peak.*
  FROM golden_peak
  JOIN current_peak ON current_peak.rank IS NOT DISTINCT FROM golden_peak.rank
    OR (golden_peak.nth = 1 AND current_peak.nth = 1 AND (golden_peak.rank IS NULL OR current_peak.rank IS NULL))
  QUALIFY row_number() OVER (PARTITION BY golden_peak.golden ORDER BY position,
    golden_peak.rank IS NOT DISTINCT FROM current_peak.rank DESC, current_peak.nth) = 1),
paired_peak AS (
  SELECT golden_peak.*
  FROM golden_peak
  JOIN pair ON pair.golden = golden_peak.golden AND pair.golden_rank IS NOT DISTINCT FROM golden_peak.rank
  QUALIFY row_number() OVER (PARTITION BY golden_peak.golden, position ORDER BY golden_peak.nth) = 1),
live AS (
  SELECT pair.golden, coalesce(label.component, 'unattributed') AS component, sum(life.actual_bytes) AS bytes
  FROM pair
  JOIN block_life AS life ON life.snapshot_id = pair.snapshot_id AND life.device = pair.device
    AND life.from_seq <= pair.peak_seq AND life.to_seq > pair.peak_seq
  LEFT JOIN label ON label.snapshot_id = life.snapshot_id AND label.device = life.device AND label.label = life.label
  WHERE NOT pair.is_refused
  GROUP BY ALL),
component AS (
  SELECT golden, component FROM live
  UNION
  SELECT paired_peak.golden, unnest(json_keys(paired_peak.components)) FROM paired_peak JOIN pair ON pair.golden = paired_peak.golden
  WHERE NOT pair.is_refused),
steps AS (
  SELECT golden, position, (content ->> '$.steps.count')::BIGINT AS iterations, (content ->> '$.steps.median_ms')::DOUBLE AS ms,
    (content ->> '$.steps.spread_ms')::DOUBLE AS spread_ms, (content ->> '$.steps.median_tflops')::DOUBLE AS tflops,
    (content ->> '$.steps.spread_tflops')::DOUBLE AS spread_tflops, NULL AS first_iteration, NULL AS last_iteration
  FROM document
  UNION ALL
  SELECT golden.golden, NULL, iterations, median_ms, spread_ms, median_tflops, spread_tflops, first_iteration, last_iteration
  FROM golden CROSS JOIN steady_steps((SELECT run_id FROM target)) AS steady),
-- Standard error of a median over that of a mean, of a normal distribution: sqrt(pi / 2).
sample AS (
  SELECT memory.golden, position, 'peak_allocated' AS check_name, 'memory' AS rule,
    CASE WHEN is_later THEN peak ELSE first_peak END AS value,
    CASE WHEN is_later THEN peak_uncertain ELSE first_uncertain END AS uncertain
  FROM memory JOIN later ON later.golden = memory.golden
  UNION ALL SELECT golden, position, 'peak_reserved', 'memory', reserved, reserved_uncertain FROM memory
  UNION ALL SELECT golden, position, 'peak_active', 'memory', active, 0 FROM paired_peak
  UNION ALL SELECT golden, NULL, 'peak_active', 'memory', CASE WHEN is_refused THEN oom_bytes ELSE peak_active_bytes END, 0 FROM pair
  UNION ALL
  SELECT component.golden, position, 'component:' || component, 'memory',
    coalesce((json_extract_string(components, component))::DOUBLE, 0), 0
  FROM component JOIN paired_peak ON paired_peak.golden = component.golden
  UNION ALL
  SELECT component.golden, NULL, 'component:' || component.component, 'memory', coalesce(live.bytes, 0), 0
  FROM component LEFT JOIN live ON live.golden = component.golden AND live.component = component.component
  UNION ALL SELECT golden, position, 'step_time', 'time', ms, 3 * 1.2533 * spread_ms / sqrt(iterations) FROM steps WHERE iterations >= 3
  UNION ALL
  SELECT golden, position, 'throughput', 'time', tflops, 3 * 1.2533 * coalesce(spread_tflops, 0) / sqrt(iterations)
  FROM steps WHERE iterations >= 3),
figure AS (
  SELECT
    golden, check_name, any_value(rule) AS rule, count(position) AS runs, median(value) FILTER (position IS NOT NULL) AS golden_value,
    max(value) FILTER (position IS NULL) AS current_value, stddev_samp(value) FILTER (position IS NOT NULL) AS deviation,
    max(uncertain) FILTER (position IS NOT NULL) / sqrt(count(position)) AS golden_uncertain,
    max(uncertain) FILTER (position IS NULL) AS current_uncertain
  FROM sample
  WHERE value IS NOT NULL
  GROUP BY golden, check_name),
-- The assumption counts like five more runs; six runs are enough without it.
compared AS (
  SELECT
    figure.*, check_rule.tolerance::DOUBLE AS tolerance, current_value - golden_value AS change,
    coalesce(sqrt((5 * pow(assumed * abs(golden_value), 2) + (runs - 1) * pow(deviation, 2)) / (4 + runs)), assumed * abs(golden_value))
      AS pooled
  FROM figure JOIN check_rule ON check_rule.rule = figure.rule
  WHERE runs > 0 AND current_value IS NOT NULL),
noisy AS (
  SELECT *, CASE WHEN check_name = 'throughput' THEN -change ELSE change END AS harm, tolerance * abs(golden_value) AS bound,
    sqrt(pow(3 * CASE WHEN runs < 6 THEN pooled ELSE greatest(pooled, deviation) END * sqrt(1 / runs + 1), 2)
      + pow(golden_uncertain, 2) + pow(current_uncertain, 2)) AS noise
  FROM compared),
failure AS (
  SELECT count(*) AS failures, count(*) FILTER (incident.is_oom) AS ooms,
    count(*) FILTER (incident.kind NOT IN ('timeout', 'connection_lost', 'hardware', 'time_limit', 'nccl_unknown', 'nccl_not_oom')) AS own
  FROM incident JOIN source ON source.source_id = incident.source_id
  WHERE source.run_id = (SELECT run_id FROM target) AND incident.kind <> 'negative_text'),
progress AS (SELECT max(iteration) AS last_iteration FROM iteration WHERE run_id = (SELECT run_id FROM target)),
ending AS (
  SELECT
    CASE
      WHEN failure.ooms > 0 OR EXISTS (
        SELECT 1 FROM trace_oom JOIN snapshot ON snapshot.snapshot_id = trace_oom.snapshot_id
        WHERE snapshot.run_id = (SELECT run_id FROM target)) THEN 'oom'
      WHEN failure.failures > 0 THEN 'failed'
      WHEN EXISTS (
        SELECT 1 FROM phase WHERE phase.run_id = (SELECT run_id FROM target) AND phase.phase = 'finished'
          AND phase.attempt = (
            SELECT max(every.attempt) FROM phase AS every WHERE every.run_id = (SELECT run_id FROM target))) THEN 'completed'
      WHEN progress.last_iteration IS NULL THEN 'no_training'
      ELSE 'stopped' END AS how, failure.own, progress.last_iteration
  FROM failure, progress),
golden_ending AS (
  SELECT golden, content ->> '$.status.ending' AS how, (content ->> '$.status.last_iteration')::BIGINT AS last_iteration
  FROM document
  QUALIFY row_number() OVER (PARTITION BY golden ORDER BY how <> 'completed', position) = 1),
loss AS (
  SELECT golden, position, unnest(json_extract(content, '$.series.iteration')::BIGINT[]) AS iteration,
    unnest(json_extract(content, '$.series.loss')::DOUBLE[]) AS value
  FROM document),
golden_loss AS (
  SELECT * FROM loss WHERE value IS NOT NULL QUALIFY position = min(position) OVER (PARTITION BY golden)),
line AS (
  SELECT iteration, CASE WHEN isfinite(printed.loss) THEN printed.loss END AS value
  FROM iteration_lines((SELECT run_id FROM target)) AS printed
  QUALIFY attempt = max(attempt) OVER ()
    AND row_number() OVER (PARTITION BY attempt, iteration ORDER BY display_path DESC, printed.line DESC, place DESC) = 1),
-- Of at most 2,000 iterations, as golden values are.
current_loss AS (
  SELECT iteration, value, row_number() OVER (ORDER BY iteration) - 1 AS nth, count(*) OVER () AS lines
  FROM line
  QUALIFY nth % greatest(1, ceil(lines / 2000)) = 0 OR nth = lines - 1),
last_loss AS (
  SELECT golden_loss.golden, max_by(golden_loss.value, golden_loss.iteration) AS golden_value,
    max_by(current_loss.value, golden_loss.iteration) AS current_value, max(golden_loss.iteration) AS iteration
  FROM golden_loss JOIN current_loss ON current_loss.iteration = golden_loss.iteration AND current_loss.value IS NOT NULL
  GROUP BY golden_loss.golden),
checked AS (
  SELECT
    noisy.golden, noisy.check_name,
    CASE WHEN rule = 'memory' THEN 'bytes' WHEN check_name = 'step_time' THEN 'ms' ELSE 'TFLOP/s/GPU' END AS unit,
    golden_value, current_value, change, change / nullif(golden_value, 0) AS relative, tolerance, noise,
    check_name IN ('peak_allocated', 'peak_active', 'step_time')
      OR (check_name = 'throughput' AND NOT EXISTS (
        SELECT 1 FROM noisy AS timed WHERE timed.golden = noisy.golden AND timed.check_name = 'step_time')) AS is_gate,
    CASE
      WHEN check_name LIKE 'component:%' AND abs(change) < 33554432 THEN 'pass'
      WHEN harm - noise > bound THEN 'regression'
      WHEN check_name IN ('peak_allocated', 'peak_active') AND ending.how IN ('oom', 'failed') THEN 'undecided'
      WHEN harm + noise * 2 / 3 > bound THEN 'undecided'
      WHEN -harm - noise > bound THEN 'improvement'
      ELSE 'pass' END AS status,
    CASE
      WHEN check_name LIKE 'component:%' AND abs(change) < 33554432 THEN 'changes of less than 32.00 MiB do not count'
      WHEN check_name = 'peak_reserved' THEN 'not a gate: what is reserved depends on the history of the pool'
      WHEN check_name IN ('peak_allocated', 'peak_active') AND ending.how IN ('oom', 'failed') AND harm - noise <= bound
        THEN 'the run failed: it needs at least this'
      WHEN check_name = 'peak_active' THEN 'snapshots of one rank'
      WHEN check_name = 'peak_allocated' AND is_later THEN 'largest over ranks; largest of all memory lines'
      WHEN check_name = 'peak_allocated' THEN 'largest over ranks; first memory line of each: a side lacks another'
      WHEN rule = 'time' THEN 'median of steady iterations ' || steps.first_iteration || ' to ' || steps.last_iteration END AS why
  FROM noisy
  CROSS JOIN ending
  LEFT JOIN later ON later.golden = noisy.golden
  LEFT JOIN steps ON steps.golden = noisy.golden AND steps.position IS NULL
  -- Memory lines are printed between steps; what a run was refused within one is known from its snapshot alone.
  WHERE check_name <> 'peak_active' OR ending.how = 'oom' OR NOT EXISTS (
    SELECT 1 FROM noisy AS allocated WHERE allocated.golden = noisy.golden AND allocated.check_name = 'peak_allocated')
  UNION ALL
  SELECT
    golden.golden, 'loss', '1', last_loss.golden_value, last_loss.current_value, last_loss.current_value - last_loss.golden_value,
    (last_loss.current_value - last_loss.golden_value) / nullif(abs(last_loss.golden_value), 0),
    CASE WHEN last_loss.golden IS NOT NULL AND NOT is_broken THEN check_rule.tolerance::DOUBLE END, NULL,
    is_broken,
    CASE WHEN is_broken THEN 'regression' WHEN last_loss.golden IS NULL THEN 'skipped'
      WHEN (last_loss.current_value - last_loss.golden_value) / nullif(abs(last_loss.golden_value), 0) > check_rule.tolerance
        THEN 'regression'
      ELSE 'pass' END,
    CASE WHEN is_broken THEN 'every loss of the run is NaN, infinite or missing'
      WHEN last_loss.golden IS NULL THEN 'no iteration has a loss on both sides'
      ELSE 'at iteration ' || last_loss.iteration || ', the last that both have' END
  FROM (
    SELECT golden, EXISTS (SELECT 1 FROM golden_loss WHERE golden_loss.golden = golden.golden)
      AND (SELECT count(*) > 0 AND count(value) = 0 FROM current_loss) AS is_broken
    FROM golden) AS golden
  LEFT JOIN last_loss ON last_loss.golden = golden.golden
  JOIN check_rule ON check_rule.rule = 'loss'
  UNION ALL
  SELECT
    golden, 'status', '', NULL, NULL, NULL, NULL, NULL, NULL, true,
    CASE
      WHEN ending.how = 'completed' THEN 'pass'
      WHEN ending.how = 'oom' THEN CASE WHEN golden_ending.how = 'oom' THEN 'info' ELSE 'regression' END
      WHEN ending.how = 'failed' THEN CASE WHEN ending.own = 0 THEN 'undecided' ELSE 'regression' END
      WHEN ending.how = 'stopped' THEN CASE WHEN ending.last_iteration >= golden_ending.last_iteration THEN 'pass' ELSE 'undecided' END
      ELSE 'info' END,
    golden_ending.how || ' → ' || ending.how
  FROM golden_ending CROSS JOIN ending),
expected AS (
  SELECT golden, 'peak_allocated' AS check_name, 'bytes' AS unit, 'a side has neither memory lines nor a snapshot of the same rank' AS why
  FROM golden
  UNION ALL SELECT golden, 'step_time', 'ms', 'a side has fewer than 3 steady iterations with a time' FROM golden),
lacking AS (
  SELECT expected.*, expected.golden || expected.unit IN (
    SELECT golden || 'bytes' FROM memory WHERE position IS NOT NULL AND peak IS NOT NULL
    UNION ALL SELECT golden || 'bytes' FROM golden_peak
    UNION ALL SELECT golden || 'ms' FROM steps WHERE position IS NOT NULL AND iterations >= 3) AS is_known
  FROM expected
  WHERE NOT EXISTS (
    SELECT 1 FROM checked
    WHERE checked.golden = expected.golden
      AND checked.check_name IN (expected.check_name, CASE expected.unit WHEN 'bytes' THEN 'peak_active' ELSE 'throughput' END)))
SELECT
  checked.golden, golden.golden_runs, check_name, unit, golden_value, current_value, change, relative, tolerance, noise, is_gate, status,
  why
FROM checked JOIN golden ON golden.golden = checked.golden CROSS JOIN target
UNION ALL
SELECT
  lacking.golden, golden.golden_runs, check_name, unit, NULL, NULL, NULL, NULL, NULL, NULL, is_known,
  CASE WHEN is_known THEN 'undecided' ELSE 'skipped' END, why
FROM lacking JOIN golden ON golden.golden = lacking.golden CROSS JOIN target
