-- @name   library.judged_checks
-- @kind   macro
-- @title  Measurements of runs against golden ones, judged by the rules of the verb compare
-- @param  document_list   VARCHAR  JSON list of {comparison, is_golden, position, document}: `document` is a run of golden values
-- @param  tolerance_list  VARCHAR  JSON object of other tolerances by rule, check or kind of check (`component`); NULL: those of check_rule
-- @param  with_stages     BOOLEAN  whether ranks and stages of both sides mean the same
-- @col    comparison      VARCHAR
-- @col    place           BIGINT   order of the checks
-- @col    check_name      VARCHAR  status, peak_allocated, peak_allocated:stage 0, peak_active, peak_reserved, component:…, step_time,
--         throughput, loss, alloc_retries
-- @col    unit            VARCHAR  empty for status
-- @col    golden_runs     BIGINT   how many golden runs there are
-- @col    current_runs    BIGINT
-- @col    golden_value    DOUBLE?  median of the golden runs
-- @col    current_value   DOUBLE?
-- @col    golden_ending   BIGINT?  of the status: position of the run whose ending is compared
-- @col    current_ending  BIGINT?
-- @col    change          DOUBLE?  current less golden
-- @col    relative        DOUBLE?
-- @col    tolerance       DOUBLE?  least relative change that counts
-- @col    noise           DOUBLE?  half-width of what is uncertain of the change
-- @col    detectable      DOUBLE?  least relative change for the worse that noise does not explain
-- @col    repeated        DOUBLE?  the same with check_threshold.enough_runs golden runs that vary as these
-- @col    is_gate         BOOLEAN  whether it decides the verdict
-- @col    status          VARCHAR  pass, improvement, regression, undecided, info or skipped
-- @col    reason          VARCHAR? what the figures are of, or why there is none
-- @col    is_least        BOOLEAN  the run failed: it needs at least this
-- @col    reason_rank     BIGINT?  of snapshots
-- @col    reason_from     BIGINT?  first iteration the figure is of
-- @col    reason_to       BIGINT?
-- @col    reason_least    BIGINT?  the threshold: bytes of a part, or iterations
-- @col    reason_kind     VARCHAR? what disturbed the run
-- @col    reason_text     VARCHAR?
-- @why    A change is a regression if it exceeds the noise, and the tolerance by sigmas_to_fail standard deviations; it passes if it is
--         within the tolerance at two; anything else is undecided. Steps that follow their neighbours count as fewer. Noise is three
--         standard deviations between runs, as assumed and corrected by what the golden runs show, with what is uncertain of each figure.
--         Allocated is the gate: reserved depends on the history of the pool, identical work gave 35.9 to 39.0 GB. Lines of logs take
--         precedence over snapshots, whose traces may begin late or be cut; first lines are compared with first lines, since Adam's states
--         are born after them. Stages are gates of their own: the largest rank may hide another stage's growth. Time is a gate before
--         throughput: how TFLOP/s are counted has changed between versions without any change of speed. Stragglers and throttled devices
--         make a slow run undecided, not bad; allocator retries slow a run too, but come of its memory. The parts of a peak are those of
--         one moment. A run that failed before fewest_steps steady iterations may not have come to the moment of the golden one: its
--         components are judged only where the whole peak is a regression.
WITH run_row AS MATERIALIZED (
  SELECT item.comparison, item.is_golden, item.position, unnest(item.document)
  FROM (
    SELECT unnest(from_json(document_list::VARCHAR::JSON, '[{
      "comparison": "VARCHAR", "is_golden": "BOOLEAN", "position": "BIGINT", "document": {
      "status": {"ending": "VARCHAR", "first_iteration": "BIGINT", "last_iteration": "BIGINT"},
      "ranks": [{"rank": "BIGINT", "stage": "BIGINT", "first_iteration": "BIGINT", "last_iteration": "BIGINT",
        "first_peak_allocated_bytes": "DOUBLE", "peak_allocated_bytes": "DOUBLE", "peak_reserved_bytes": "DOUBLE",
        "alloc_retries": "DOUBLE", "precision_bytes": "DOUBLE"}],
      "peaks": [{"rank": "BIGINT", "moment": "VARCHAR", "active_bytes": "DOUBLE", "components": "MAP(VARCHAR, DOUBLE)",
        "parts": "MAP(VARCHAR, DOUBLE)"}],
      "steps": {"from": "BIGINT", "to": "BIGINT", "count": "BIGINT", "independent": "DOUBLE", "median_ms": "DOUBLE", "spread_ms": "DOUBLE",
        "median_tflops": "DOUBLE", "spread_tflops": "DOUBLE"},
      "series": {"iteration": ["BIGINT"], "loss": ["DOUBLE"]},
      "disturbances": [{"kind": "VARCHAR", "text": "VARCHAR"}]}}]')) AS item) AS listed),
explicit_tolerance AS (
  SELECT unnest(map_entries(from_json(tolerance_list::VARCHAR::JSON, '"MAP(VARCHAR, DOUBLE)"')), max_depth := 2)),
rule AS (
  SELECT check_rule.rule, check_rule.assumed::DOUBLE AS assumed,
    coalesce(explicit_tolerance.value, check_rule.tolerance::DOUBLE) AS tolerance
  FROM check_rule LEFT JOIN explicit_tolerance ON explicit_tolerance.key = check_rule.rule),
rank_row AS (
  SELECT comparison, is_golden, position, generate_subscripts(ranks, 1) AS nth, unnest(ranks, max_depth := 2) FROM run_row),
later AS (
  SELECT comparison, bool_and(len(list_filter(ranks, lambda entry:
    entry.peak_allocated_bytes IS NOT NULL AND entry.last_iteration > coalesce(entry.first_iteration, 0))) > 0) IS TRUE AS is_later
  FROM run_row GROUP BY comparison),
allocated AS (
  SELECT rank_row.comparison, is_golden, position, rank, stage, precision_bytes,
    CASE WHEN is_later THEN peak_allocated_bytes ELSE first_peak_allocated_bytes END AS value
  FROM rank_row JOIN later ON later.comparison = rank_row.comparison),
staged AS (
  SELECT comparison FROM rank_row WHERE is_golden AND with_stages GROUP BY comparison HAVING count(DISTINCT stage) > 1),
peak_row AS (
  SELECT comparison, is_golden, position, generate_subscripts(peaks, 1) AS nth, unnest(peaks, max_depth := 2) FROM run_row),
-- The first rank of which both have a peak; one rank each where no rank is known.
pair AS (
  SELECT theirs.comparison, mine.rank AS golden_rank, theirs.rank AS current_rank
  FROM peak_row AS theirs
  JOIN peak_row AS mine ON mine.comparison = theirs.comparison AND mine.is_golden AND (mine.rank IS NOT DISTINCT FROM theirs.rank
    OR (mine.nth = 1 AND theirs.nth = 1 AND (mine.rank IS NULL OR theirs.rank IS NULL)))
  WHERE NOT theirs.is_golden
  QUALIFY row_number() OVER (PARTITION BY theirs.comparison ORDER BY mine.position, theirs.position,
    mine.rank IS NOT DISTINCT FROM theirs.rank DESC, theirs.nth, mine.nth) = 1),
paired AS (
  SELECT peak_row.*
  FROM peak_row
  JOIN pair ON pair.comparison = peak_row.comparison
    AND peak_row.rank IS NOT DISTINCT FROM CASE WHEN peak_row.is_golden THEN golden_rank ELSE current_rank END
  QUALIFY row_number() OVER (PARTITION BY peak_row.comparison, peak_row.is_golden, peak_row.position ORDER BY peak_row.nth) = 1),
paired_moment AS (
  SELECT comparison, arg_min(rank, position) FILTER (NOT is_golden) AS rank, arg_min(moment, position) FILTER (NOT is_golden) AS moment,
    bool_and(coalesce(parts, components) IS NOT NULL) AS has_parts, bool_or(parts IS NOT NULL) AS has_own_parts
  FROM paired GROUP BY comparison),
part AS (
  SELECT comparison, is_golden, position, unnest(map_entries(parts), max_depth := 2) FROM paired
  UNION ALL
  SELECT comparison, is_golden, position, 'component:' || entry.key, entry.value
  FROM (SELECT comparison, is_golden, position, unnest(map_entries(components)) AS entry FROM paired) AS listed),
-- Figures of a run by check. Families are in the order of the report.
sample AS (
  SELECT comparison, is_golden, 1 AS family, NULL AS number, 'peak_allocated' AS check_name, max(value) AS value,
    arg_max(precision_bytes, value) AS uncertain
  FROM allocated GROUP BY comparison, is_golden, position
  UNION ALL
  SELECT comparison, is_golden, 2, stage, 'peak_allocated:stage ' || stage, max(value), arg_max(precision_bytes, value)
  FROM allocated WHERE stage IS NOT NULL AND comparison IN (FROM staged) GROUP BY comparison, is_golden, position, stage
  UNION ALL
  SELECT comparison, is_golden, 3, rank, 'peak_allocated:rank ' || rank, max(value), arg_max(precision_bytes, value)
  FROM allocated WHERE rank IS NOT NULL AND with_stages GROUP BY comparison, is_golden, position, rank
  UNION ALL SELECT comparison, is_golden, 4, NULL, 'peak_active', active_bytes, 0 FROM paired
  UNION ALL
  SELECT comparison, is_golden, 5, NULL, 'peak_reserved', max(peak_reserved_bytes), arg_max(precision_bytes, peak_reserved_bytes)
  FROM rank_row GROUP BY comparison, is_golden, position
  UNION ALL
  SELECT paired.comparison, paired.is_golden, 6, NULL, named.key, coalesce(part.value, 0), 0
  FROM paired
  JOIN paired_moment AS known ON known.comparison = paired.comparison AND known.has_parts
  JOIN (SELECT DISTINCT comparison, key FROM part) AS named ON named.comparison = paired.comparison
  LEFT JOIN part ON part.comparison = paired.comparison AND part.is_golden = paired.is_golden AND part.position = paired.position
    AND part.key = named.key
  UNION ALL
  SELECT comparison, is_golden, 7, NULL, 'step_time', steps.median_ms,
    sigmas * median_error * steps.spread_ms / sqrt(coalesce(steps.independent, steps.count))
  FROM run_row CROSS JOIN check_threshold WHERE steps.count >= fewest_steps
  UNION ALL
  SELECT comparison, is_golden, 8, NULL, 'throughput', steps.median_tflops,
    sigmas * median_error * coalesce(steps.spread_tflops, 0) / sqrt(coalesce(steps.independent, steps.count))
  FROM run_row CROSS JOIN check_threshold WHERE steps.count >= fewest_steps
  UNION ALL
  SELECT comparison, is_golden, 10, NULL, 'alloc_retries', max(alloc_retries), 0 FROM rank_row GROUP BY comparison, is_golden, position),
figure AS (
  SELECT
    comparison, family, number, check_name, CASE WHEN family < 7 THEN 'memory' WHEN family = 10 THEN 'retries' ELSE 'time' END AS rule,
    count(*) FILTER (is_golden) AS runs, count(*) FILTER (NOT is_golden) AS current_runs,
    median(value) FILTER (is_golden) AS golden_value, median(value) FILTER (NOT is_golden) AS current_value,
    stddev_samp(value) FILTER (is_golden) AS deviation, max(uncertain) FILTER (is_golden) / sqrt(runs) AS golden_uncertain,
    max(uncertain) FILTER (NOT is_golden) / sqrt(current_runs) AS current_uncertain
  FROM sample WHERE value IS NOT NULL GROUP BY ALL),
-- The tolerance of a check takes precedence over that of its kind, and that over its rule's.
rule_of_check AS (
  SELECT named.check_name AS ruled_check, assumed, coalesce(alone.value, kind.value, tolerance) AS tolerance
  FROM (SELECT DISTINCT check_name, rule FROM figure) AS named
  JOIN rule ON rule.rule = named.rule
  LEFT JOIN explicit_tolerance AS alone ON alone.key = named.check_name
  LEFT JOIN explicit_tolerance AS kind ON kind.key = split_part(named.check_name, ':', 1)),
noisy AS (
  SELECT figure.*, rule.tolerance, current_value - golden_value AS change, rule.tolerance * abs(golden_value) AS bound,
    CASE check_name WHEN 'throughput' THEN golden_value - current_value ELSE current_value - golden_value END AS harm,
    coalesce(sqrt((prior_runs * pow(assumed * abs(golden_value), 2) + (runs - 1) * pow(deviation, 2)) / (prior_runs + runs - 1)),
      assumed * abs(golden_value)) AS pooled,
    sigmas * CASE WHEN runs < enough_runs THEN pooled ELSE greatest(pooled, deviation) END AS between_runs,
    sqrt(pow(between_runs, 2) * (1 / runs + 1 / current_runs) + pow(golden_uncertain, 2) + pow(current_uncertain, 2)) AS noise,
    sqrt(pow(between_runs, 2) * (1 / enough_runs + 1 / current_runs) + pow(golden_uncertain, 2) * runs / enough_runs
      + pow(current_uncertain, 2)) AS noise_of_repeats,
    greatest(noise, bound + noise * sigmas_to_fail / sigmas) AS least_harm,
    greatest(noise_of_repeats, bound + noise_of_repeats * sigmas_to_fail / sigmas) AS least_harm_of_repeats,
    CASE WHEN harm > least_harm THEN 'regression' WHEN harm + noise * sigmas_to_pass / sigmas > bound THEN 'undecided'
      WHEN -harm > least_harm THEN 'improvement' ELSE 'pass' END AS outcome
  FROM figure JOIN rule_of_check AS rule ON ruled_check = check_name CROSS JOIN check_threshold
  WHERE runs > 0 AND current_runs > 0),
judged_end AS (
  FROM judged_endings(document_list)
  QUALIFY row_number() OVER (PARTITION BY comparison
    ORDER BY list_position(['pass', 'info', 'undecided', 'regression'], status) DESC, position) = 1),
excuse AS (
  FROM (SELECT comparison, position, unnest(disturbances, max_depth := 2) FROM run_row WHERE NOT is_golden) AS disturbance
  WHERE kind IN ('straggler', 'throttling', 'other_process')
  QUALIFY row_number() OVER (PARTITION BY comparison ORDER BY position) = 1),
-- Ranks are reported where they add to the figure of their stage, or without stages to that of the run.
rank_alone AS (
  SELECT noisy.comparison, noisy.number
  FROM noisy
  LEFT JOIN rank_row AS golden_rank ON golden_rank.comparison = noisy.comparison AND golden_rank.is_golden AND golden_rank.position = 0
    AND golden_rank.rank = noisy.number
  LEFT JOIN noisy AS larger ON larger.comparison = noisy.comparison AND larger.outcome = 'regression'
    AND CASE WHEN golden_rank.stage IS NULL THEN larger.family = 1 ELSE larger.family = 2 AND larger.number = golden_rank.stage END
  WHERE noisy.family = 3 AND noisy.outcome = 'regression' AND larger.comparison IS NULL
  QUALIFY row_number() OVER (PARTITION BY noisy.comparison ORDER BY noisy.number) <= (SELECT most_ranks FROM check_threshold)),
whole AS (
  SELECT
    comparison, count(*) FILTER (is_golden) AS golden_runs, count(*) FILTER (NOT is_golden) AS current_runs,
    bool_or(status.ending IN ('oom', 'failed')) FILTER (NOT is_golden) AS has_failed,
    bool_or(status.ending = 'oom') FILTER (NOT is_golden) AS has_oom,
    bool_or(status.ending IN ('oom', 'failed') AND coalesce(steps.count, 0) < fewest_steps
      AND coalesce(status.last_iteration - status.first_iteration, 0) < fewest_steps) FILTER (NOT is_golden) AS has_ended_early,
    min(status.last_iteration) FILTER (NOT is_golden AND status.ending IN ('oom', 'failed')) AS ended_after,
    arg_min(steps.from, position) FILTER (NOT is_golden AND steps.from IS NOT NULL) AS first_iteration,
    arg_min(steps.to, position) FILTER (NOT is_golden AND steps.from IS NOT NULL) AS last_iteration,
    coalesce(bool_or(is_golden AND (len(peaks) > 0
      OR len(list_filter(ranks, lambda entry: entry.peak_allocated_bytes IS NOT NULL)) > 0)), false) AS has_memory,
    coalesce(bool_or(is_golden AND steps.count >= fewest_steps), false) AS has_time
  FROM run_row CROSS JOIN check_threshold
  GROUP BY comparison),
judged_family AS (
  SELECT comparison, bool_or(family IN (1, 4) AND outcome = 'regression') AS has_grown, bool_or(family = 1) AS has_lines,
    bool_or(family IN (1, 4)) AS has_peak, bool_or(family = 7) AS has_step_time,
    bool_or(family IN (7, 8)) AS has_speed
  FROM noisy GROUP BY comparison),
context AS (
  SELECT whole.*, is_later, paired_moment.rank AS peak_rank, paired_moment.moment, excuse.kind AS excuse_kind, excuse.text AS excuse_text,
    has_lines IS TRUE AS has_lines, has_peak IS TRUE AS has_peak,
    has_ended_early AND has_grown IS NOT TRUE AND has_own_parts IS NOT TRUE AS has_other_moment,
    has_step_time IS TRUE AS has_step_time, has_speed IS TRUE AS has_speed
  FROM whole
  JOIN later ON later.comparison = whole.comparison
  LEFT JOIN paired_moment ON paired_moment.comparison = whole.comparison
  LEFT JOIN excuse ON excuse.comparison = whole.comparison
  LEFT JOIN judged_family ON judged_family.comparison = whole.comparison),
loss AS (
  SELECT comparison, is_golden, position, unnest(series.iteration) AS iteration, unnest(series.loss) AS value FROM run_row),
known_loss AS (
  FROM loss WHERE value IS NOT NULL QUALIFY position = min(position) OVER (PARTITION BY comparison, is_golden)),
last_loss AS (
  SELECT golden.comparison, max(golden.iteration) AS iteration, arg_max(golden.value, golden.iteration) AS golden_value,
    arg_max(now.value, golden.iteration) AS current_value
  FROM known_loss AS golden
  JOIN known_loss AS now ON now.comparison = golden.comparison AND now.iteration = golden.iteration
  WHERE golden.is_golden AND NOT now.is_golden
  GROUP BY golden.comparison),
loss_side AS (
  SELECT whole.comparison, count(value) FILTER (loss.is_golden) > 0 AS has_golden,
    count(value) FILTER (NOT loss.is_golden) > 0 AS has_current,
    count(*) FILTER (NOT loss.is_golden) > 0 AND has_golden AND NOT has_current AS is_broken
  FROM whole LEFT JOIN loss ON loss.comparison = whole.comparison
  GROUP BY whole.comparison),
answer AS (
  SELECT
    noisy.comparison, noisy.family, noisy.number, check_name,
    CASE WHEN family < 7 THEN 'bytes' WHEN family = 7 THEN 'ms' WHEN family = 8 THEN 'TFLOP/s/GPU' ELSE '1' END AS unit,
    golden_value, current_value, NULL AS golden_ending, NULL AS current_ending, change, change / nullif(golden_value, 0) AS relative,
    tolerance, noise, least_harm / nullif(abs(golden_value), 0) AS detectable,
    CASE WHEN runs < enough_runs THEN least_harm_of_repeats / nullif(abs(golden_value), 0) END AS repeated,
    family IN (1, 2, 4, 7) OR (family = 8 AND NOT has_step_time) AS is_gate,
    family < 5 AND has_failed AND outcome <> 'regression' AS is_least,
    family IN (7, 8) AND outcome = 'regression' AND excuse_kind IS NOT NULL AS is_excused,
    family = 6 AND abs(change) < least_part_bytes AS is_small,
    family = 6 AND has_other_moment AND NOT is_small AND outcome <> 'pass' AS is_moment,
    CASE WHEN is_small THEN 'pass' WHEN is_moment THEN 'skipped' WHEN is_least OR is_excused THEN 'undecided' ELSE outcome END AS status,
    CASE family
      WHEN 1 THEN CASE WHEN is_later THEN 'all_lines' ELSE 'first_lines' END
      WHEN 2 THEN 'ranks_of_stage'
      WHEN 3 THEN 'one_rank'
      WHEN 4 THEN CASE moment WHEN 'oom' THEN 'snapshots_with_refused' ELSE 'snapshots' END
      WHEN 5 THEN 'depends_on_history'
      WHEN 6 THEN CASE WHEN is_small THEN 'small_part' WHEN is_moment THEN 'ended_early' END
      WHEN 10 THEN 'retries_of_rank'
      ELSE CASE WHEN is_excused THEN 'disturbed' ELSE 'steady_iterations' END END AS reason,
    CASE family WHEN 4 THEN peak_rank END AS reason_rank, CASE WHEN family IN (7, 8) THEN first_iteration END AS reason_from,
    CASE WHEN family IN (7, 8) THEN last_iteration WHEN is_moment THEN ended_after + 1 END AS reason_to,
    CASE WHEN is_small THEN least_part_bytes END AS reason_least,
    CASE WHEN is_excused THEN excuse_kind END AS reason_kind, CASE WHEN is_excused THEN excuse_text END AS reason_text
  FROM noisy
  JOIN context ON context.comparison = noisy.comparison
  LEFT JOIN rank_alone ON rank_alone.comparison = noisy.comparison AND rank_alone.number = noisy.number
  CROSS JOIN check_threshold
  -- Memory lines are printed between steps; what a run was refused within one is known from its snapshot alone.
  WHERE (family <> 3 OR rank_alone.number IS NOT NULL) AND (family <> 4 OR has_oom OR NOT has_lines)
  UNION ALL BY NAME
  SELECT comparison, 0 AS family, 'status' AS check_name, '' AS unit, golden_position AS golden_ending, position AS current_ending,
    true AS is_gate, status, 'ending' AS reason
  FROM judged_end
  UNION ALL BY NAME
  -- What the golden run has and the other lacks is a gate that stays undecided.
  SELECT comparison, lacking.family, lacking.check_name, lacking.unit, CASE family WHEN 1 THEN has_memory ELSE has_time END AS is_gate,
    CASE WHEN is_gate THEN 'undecided' ELSE 'skipped' END AS status,
    CASE family WHEN 1 THEN 'no_memory' ELSE CASE WHEN is_gate THEN 'current_without_steps' ELSE 'no_steps' END END AS reason,
    CASE family WHEN 7 THEN fewest_steps END AS reason_least
  FROM context JOIN (VALUES (1, 'peak_allocated', 'bytes'), (7, 'step_time', 'ms')) AS lacking(family, check_name, unit)
    ON CASE lacking.family WHEN 1 THEN NOT has_peak ELSE NOT has_speed END
  CROSS JOIN check_threshold
  UNION ALL BY NAME
  SELECT
    loss_side.comparison, 9 AS family, 'loss' AS check_name, '1' AS unit, golden_value, current_value,
    current_value - golden_value AS change,
    change / nullif(abs(golden_value), 0) AS relative, CASE WHEN iteration IS NOT NULL THEN rule.tolerance END AS tolerance,
    is_broken AS is_gate, CASE WHEN is_broken OR change / nullif(abs(golden_value), 0) > rule.tolerance THEN 'regression'
      WHEN iteration IS NULL THEN 'skipped' ELSE 'pass' END AS status,
    CASE WHEN is_broken THEN 'broken_loss' WHEN NOT has_golden OR NOT has_current THEN 'no_loss'
      WHEN iteration IS NULL THEN 'no_common_loss' ELSE 'last_common_loss' END AS reason,
    iteration AS reason_from, iteration AS reason_to
  FROM loss_side
  LEFT JOIN last_loss ON last_loss.comparison = loss_side.comparison
  JOIN rule ON rule.rule = 'loss')
SELECT
  answer.comparison, row_number() OVER (PARTITION BY answer.comparison ORDER BY family, number, check_name) AS place, check_name, unit,
  golden_runs, current_runs, golden_value, current_value, golden_ending, current_ending, change, relative, tolerance, noise, detectable,
  repeated, is_gate,
  status, reason, is_least IS TRUE AS is_least, reason_rank, reason_from, reason_to, reason_least, reason_kind, reason_text
FROM answer JOIN whole ON whole.comparison = answer.comparison
