-- @name   nsys.step_candidates
-- @title  What the training steps of a report may be, the chosen one first, and what they are not
-- @param  source_id  INTEGER
-- @param  step_range VARCHAR? the range that the user names: its text, or the text of a candidate
-- @uses   _nsys.step_ranges
-- @uses   _nsys.step_groups
-- @uses   _nsys.step_tops
-- @uses   _nsys.step_cycles
-- @col    status     VARCHAR   chosen, possible, rejected
-- @col    method     VARCHAR?  range, combination, anchor, recurring, period; NULL: rejected as a text
-- @col    text       VARCHAR   of the ranges, # for numbers that change; of a combination: the texts of its phases
-- @col    reason     VARCHAR   of a candidate: named, fills, phases, ends, regular, requested, of another: why it is not a step
-- @col    count      BIGINT    windows, or ranges
-- @col    mean_ns    DOUBLE    of their durations
-- @col    share      DOUBLE?   of the CUDA calls from the first to the last that the windows contain; without calls, of the time
-- @col    is_of_time BOOLEAN   the share is one of time
-- @col    windows    VARCHAR?  of the chosen one, JSON: index, start_ns, end_ns and pid of each
-- @why    A range that names the step is it, unless it is one phase of an iteration; that is so where it contains less than half of the
--         work between the first and the last of them. Then a range that repeats at the outermost level and fills it; then phases at
--         one level that are an iteration together; then the time between the ends of optimizer steps; last, the time from one range to
--         the next. A range or a combination that repeats more often than the optimizer steps is a micro-batch. Fewer than three ranges
--         that no name explains may be chance. Where a user names a range, it is the step, without ranges of its own text inside of it;
--         the optimizer's end one.
WITH spans AS (SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM step_ranges),
labels AS (SELECT DISTINCT template, label, kind FROM step_groups),
lanes AS (SELECT lane, sum(end_ns - start_ns) AS top_ns FROM step_tops GROUP BY lane),
top_groups AS (
  SELECT groups.*, tops.top_ns, tops.tops, lanes.top_ns AS lane_ns
  FROM (SELECT lane, template, sum(end_ns - start_ns) AS top_ns, count(*) AS tops FROM step_tops GROUP BY lane, template) AS tops
  JOIN step_groups AS groups USING (lane, template) JOIN lanes USING (lane)),
numbered AS (SELECT *, CASE WHEN len(numbers) = 1 THEN numbers[1] END AS number FROM step_ranges),
names AS (
  SELECT lane, list(label ORDER BY place) AS names, list(kind) AS kinds
  FROM (SELECT lane, unnest(templates) AS template, generate_subscripts(templates, 1) AS place
    FROM (SELECT lane, any_value(templates) AS templates FROM step_cycles GROUP BY lane))
  JOIN labels USING (template) GROUP BY lane),
combinations AS (
  SELECT step_cycles.*,
    array_to_string(names[:8], ' + ') || CASE WHEN len(names) > 8 THEN concat(' + ', len(names) - 8, ' more') ELSE '' END AS text,
    list_has_any(kinds, ['optimizer', 'step', 'bare_step']) AS has_end
  FROM step_cycles JOIN names USING (lane)),
ends AS (
  SELECT ranges.lane, ranges.template, ranges.end_ns,
    lead(ranges.end_ns) OVER (PARTITION BY ranges.lane, ranges.template ORDER BY ranges.end_ns) - ranges.end_ns AS lead_ns
  FROM step_ranges AS ranges JOIN step_groups AS groups USING (lane, template)
  WHERE NOT groups.is_overlapping AND groups.kind IN ('optimizer', 'bare_step')),
last_ends AS (
  SELECT lane, template, end_ns, lag(end_ns) OVER (PARTITION BY lane, template ORDER BY end_ns) AS before_ns
  FROM (FROM ends QUALIFY lead_ns IS NULL OR lead_ns >= 0.1 * quantile_cont(lead_ns, 0.9) OVER (PARTITION BY lane, template))),
alike AS (
  SELECT top_groups.* FROM top_groups, spans
  WHERE kind NOT IN ('index', 'module', 'optimizer', 'step', 'bare_step') AND numbering <> 'repeating' AND NOT is_overlapping AND count >= 3
    AND count * median_ns >= 0.5 * total_ns AND top_groups.end_ns - top_groups.start_ns >= 0.5 * (spans.end_ns - spans.start_ns)),
asked AS (
  SELECT lane, template, name, start_ns, end_ns, max(end_ns) OVER (PARTITION BY lane
    ORDER BY start_ns, end_ns DESC, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_ns, number,
    CASE WHEN template_matches OR (SELECT count(*) FROM numbered WHERE lower(name) = lower($step_range)) < 2
      THEN label ELSE name END AS text
  FROM (
    SELECT numbered.*, label, lower(label) = lower($step_range) OR lower(template) = lower($step_range) AS template_matches
    FROM numbered JOIN labels USING (template)
    WHERE $step_range IS NOT NULL)
  WHERE template_matches OR CASE WHEN (SELECT count(*) FROM numbered WHERE lower(name) = lower($step_range)) < 2
    THEN template IN (SELECT template FROM numbered WHERE lower(name) = lower($step_range)) ELSE lower(name) = lower($step_range) END),
windows AS (
  SELECT 'range' AS method, label AS text, numbered.lane, template, number, numbered.start_ns, numbered.end_ns, false AS is_asked
  FROM numbered JOIN step_groups USING (lane, template) WHERE step_groups.kind IN ('step', 'bare_step') AND NOT is_overlapping
  UNION ALL
  SELECT 'range', text, lane, template, number, start_ns, end_ns, true FROM asked
  WHERE (reached_ns IS NULL OR start_ns >= reached_ns) AND template NOT IN (SELECT template FROM last_ends)
  UNION ALL
  SELECT 'combination', text, lane, NULL, number, start_ns, end_ns, false FROM combinations
  UNION ALL
  SELECT 'anchor', label, lane, template, NULL, before_ns, end_ns, false
  FROM last_ends JOIN labels USING (template) WHERE before_ns IS NOT NULL
  UNION ALL
  SELECT 'recurring', label, lane, template, number, tops.start_ns, tops.end_ns, false
  FROM alike JOIN numbered AS tops USING (lane, template)
  WHERE alike.kind = 'other' AND total_ns >= 0.5 * (alike.end_ns - alike.start_ns)
  UNION ALL
  SELECT 'period', label, lane, template, number, start_ns, next_ns, false FROM (
    SELECT label, lane, template, tops.number, tops.start_ns, lead(tops.start_ns) OVER (PARTITION BY lane, template ORDER BY tops.start_ns)
      AS next_ns
    FROM alike JOIN numbered AS tops USING (lane, template) WHERE total_ns >= 0.1 * (alike.end_ns - alike.start_ns))
  WHERE next_ns IS NOT NULL
  QUALIFY median(next_ns - start_ns) OVER (PARTITION BY lane, template) * count(*) OVER (PARTITION BY lane, template)
    >= 0.5 * (max(next_ns) OVER (PARTITION BY lane, template) - min(start_ns) OVER (PARTITION BY lane, template))),
-- Numbers of modules from each window to the next: an iteration has all, a period inside of one goes from number to number.
modules AS (
  SELECT ranges.lane, ranges.template, numbers[1] AS number, ranges.start_ns
  FROM step_ranges AS ranges JOIN step_groups AS groups USING (lane, template)
  WHERE groups.kind = 'index'
    AND regexp_matches(template, '(?i)(layers?|blocks?|modules?|experts?|(^|[^a-z])(h|encoder|decoder))[-_./ :\[(]*#')),
found AS (
  SELECT modules.*, windows.start_ns AS window_ns
  FROM (SELECT modules.*, method, text
    FROM modules JOIN (SELECT DISTINCT method, text, lane FROM windows WHERE method IN ('combination', 'recurring', 'period')) USING (lane))
    AS modules
  ASOF JOIN windows ON windows.method = modules.method AND windows.text = modules.text AND windows.lane = modules.lane
    AND modules.start_ns >= windows.start_ns),
passed AS (
  SELECT method, text, lane, template, min(number) AS least, max(number) AS most,
    lag(least) OVER (PARTITION BY method, text, lane, template ORDER BY window_ns) AS least_before,
    lag(most) OVER (PARTITION BY method, text, lane, template ORDER BY window_ns) AS most_before
  FROM found GROUP BY method, text, lane, template, window_ns),
sequences AS (
  SELECT method, text, lane FROM passed GROUP BY method, text, lane, template
  HAVING 2 * count(*) FILTER (least > most_before OR most < least_before) > count(most_before)),
calls AS (
  SELECT pid, start_ns, row_number() OVER (PARTITION BY pid ORDER BY start_ns) AS nth FROM nsys_api
  WHERE source_id = $source_id AND (SELECT count(*) FROM windows) > 0),
begun AS (
  SELECT windows.*, lanes.pid, coalesce(calls.nth, 0) AS calls_before
  FROM windows JOIN (SELECT lane, any_value(pid) AS pid FROM step_ranges GROUP BY lane) AS lanes USING (lane)
  ASOF LEFT JOIN calls ON calls.pid = lanes.pid AND windows.start_ns > calls.start_ns),
ended AS (
  SELECT begun.*, coalesce(calls.nth, 0) AS calls_until,
    row_number() OVER (PARTITION BY method, text, lane, is_asked ORDER BY begun.start_ns) AS nth,
    begun.number > lag(begun.number) OVER (PARTITION BY method, text, lane, is_asked ORDER BY begun.start_ns) AS rises
  FROM begun ASOF LEFT JOIN calls ON calls.pid = begun.pid AND begun.end_ns > calls.start_ns),
by_lane AS (
  SELECT method, text, is_asked, lane, any_value(template) AS template, any_value(pid) AS pid, count(*) AS count,
    sum(end_ns - start_ns) AS total_ns, max(end_ns) - min(start_ns) AS span_ns,
    sum(calls_until - calls_before) AS calls, max(calls_until) - min(calls_before) AS all_calls,
    bool_and(number IS NOT NULL AND coalesce(rises, true)) AS is_numbered
  FROM ended GROUP BY method, text, is_asked, lane),
of_process AS (
  FROM by_lane QUALIFY row_number() OVER (PARTITION BY method, text, is_asked, pid ORDER BY count DESC, total_ns DESC, lane) = 1),
measured AS (
  SELECT method, text, is_asked, first(lane ORDER BY total_ns DESC) AS lane, any_value(template) AS template, sum(count)::BIGINT AS count,
    count(*) AS processes, sum(total_ns) AS total_ns,
    coalesce(sum(calls) / nullif(sum(all_calls), 0), sum(total_ns) / nullif(sum(span_ns), 0)) AS share,
    sum(all_calls) = 0 AS is_of_time
  FROM of_process GROUP BY method, text, is_asked),
judged AS (
  SELECT measured.*, anchor_steps.steps AS optimizer_steps, top.top_ns / top.lane_ns AS top_share,
    CASE WHEN is_asked THEN 'requested'
      WHEN method = 'range' AND share < 0.5 AND processes < count AND (
        (measured.lane, measured.template) IN (SELECT (lane, unnest(templates)) FROM combinations)
        OR measured.template IN (SELECT template FROM labels WHERE kind = 'bare_step')) THEN 'part_of_iteration'
      WHEN (method, text, measured.lane) IN (SELECT (method, text, lane) FROM sequences) THEN 'inside_modules'
      WHEN method IN ('combination', 'recurring', 'period') AND count > 1.2 * optimizer_steps + processes
        AND NOT (method = 'combination' AND EXISTS (FROM combinations WHERE combinations.lane = measured.lane AND has_end))
        THEN 'micro_batch'
      WHEN method IN ('recurring', 'period') AND (measured.lane, measured.template) IN (SELECT (lane, unnest(templates)) FROM combinations)
        AND NOT (method = 'recurring' AND top_share >= 0.9) THEN 'phase'
      WHEN method = 'recurring' AND optimizer_steps > 1.2 * count + processes THEN 'several_steps'
      ELSE CASE method WHEN 'range' THEN 'named' WHEN 'combination' THEN 'phases' WHEN 'anchor' THEN 'ends' WHEN 'recurring' THEN 'fills'
        ELSE 'regular' END END AS reason
  FROM measured
  LEFT JOIN (SELECT max(count + processes) AS steps FROM measured WHERE method = 'anchor') AS anchor_steps ON true
  LEFT JOIN (SELECT lane, template, top_ns, lane_ns FROM top_groups) AS top USING (lane, template)),
ranked AS (
  SELECT *, CASE WHEN reason IN ('part_of_iteration', 'inside_modules', 'micro_batch', 'several_steps', 'phase') THEN 9
      WHEN reason = 'requested' THEN 0
      WHEN lower(text) = lower($step_range) AND NOT EXISTS (FROM judged WHERE reason = 'requested') THEN 1
      WHEN method = 'range' THEN 2
      WHEN method = 'recurring' AND top_share >= 0.9 THEN 3
      WHEN method = 'combination' AND share >= 0.5 THEN 4
      WHEN method = 'anchor' THEN 5
      WHEN method = 'recurring' THEN 6
      WHEN method = 'period' THEN 7
      ELSE 8 END AS rank
  FROM judged),
chosen AS (
  SELECT *, rank < CASE WHEN $step_range IS NULL THEN 9 ELSE 2 END
    AND row_number() OVER (ORDER BY rank, total_ns DESC, text) = 1 AS is_chosen
  FROM ranked),
chosen_windows AS (
  SELECT to_json(list({'index': CASE WHEN is_numbered THEN number ELSE nth END, 'start_ns': start_ns, 'end_ns': end_ns, 'pid': ended.pid}
    ORDER BY ended.pid NULLS FIRST, start_ns))::VARCHAR AS windows
  FROM ended JOIN of_process USING (method, text, is_asked, lane) JOIN chosen USING (method, text, is_asked)
  WHERE is_chosen),
rejected AS (
  SELECT label AS text, any_value(kind) AS kind, sum(count)::BIGINT AS count, median(median_ns) AS median_ns, sum(total_ns) AS total_ns,
    bool_or(is_overlapping) AS is_overlapping, bool_or(numbering = 'repeating') AS repeats,
    bool_or(top_groups.template IS NOT NULL) AS is_top
  FROM step_groups LEFT JOIN (SELECT lane, template FROM top_groups) AS top_groups USING (lane, template)
  WHERE count >= 2 AND label NOT IN (SELECT text FROM measured)
  GROUP BY label),
listed AS (
  SELECT CASE WHEN is_chosen THEN 'chosen' WHEN rank < 8 THEN 'possible' ELSE 'rejected' END AS status, method, text,
    CASE WHEN is_chosen AND $step_range IS NOT NULL THEN 'requested' WHEN rank = 8 AND NOT is_chosen THEN 'little' ELSE reason END
      AS reason, count,
    total_ns / count AS mean_ns, share, is_of_time, CASE WHEN is_chosen THEN (FROM chosen_windows) END AS windows
  FROM chosen
  UNION ALL
  SELECT 'rejected', NULL, text, CASE
      WHEN is_overlapping THEN 'overlaps'
      WHEN kind = 'index' THEN 'module_index'
      WHEN kind = 'module' THEN 'module'
      WHEN kind = 'epoch' THEN 'epoch'
      WHEN repeats THEN 'numbers_repeat'
      WHEN kind IN ('data', 'forward', 'phase', 'optimizer') THEN 'phase'
      WHEN NOT is_top THEN 'inside'
      WHEN text IN (SELECT label FROM labels WHERE template IN (SELECT unnest(templates) FROM combinations)) THEN 'phase'
      WHEN count < 3 THEN 'few'
      ELSE 'irregular' END, count, total_ns / count, NULL, false, NULL
  FROM (FROM rejected ORDER BY kind IN ('step', 'bare_step') DESC, is_top DESC, total_ns DESC, text LIMIT 8))
FROM listed
ORDER BY status = 'chosen' DESC, status, method IS NULL, mean_ns * count DESC, text
