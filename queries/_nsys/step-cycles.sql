-- @name   _nsys.step_cycles
-- @title  Iterations of which several ranges are the phases
-- @param  source_id INTEGER
-- @uses   _nsys.step_ranges
-- @uses   _nsys.step_groups
-- @uses   _nsys.step_tops
-- @col    lane      BIGINT
-- @col    templates VARCHAR[] of the phases, in the order of an iteration
-- @col    number    BIGINT?   of the iteration, in the text of a phase
-- @col    start_ns  BIGINT
-- @col    end_ns    BIGINT
-- @why    Forward, backward and optimizer at one level are one iteration together. It ends with the last optimizer step, of which a
--         chain of optimizers makes several; without one it begins with the phase that loads data, else with forward, else behind the
--         largest gap, and then every phase occurs once. The first and the last iteration may be cut off: those without all phases are
--         left out.
WITH kinds AS (
  SELECT lane, template, any_value(kind) AS kind, any_value(numbering) AS numbering, count(*) AS tops, sum(end_ns - start_ns) AS total_ns,
    median(gap_ns) AS gap_ns, min(start_ns) AS start_ns
  FROM step_tops GROUP BY lane, template HAVING count(*) >= 2),
last_phases AS (
  SELECT lane, template FROM kinds WHERE kind IN ('optimizer', 'bare_step')
  QUALIFY row_number() OVER (PARTITION BY lane ORDER BY kind = 'optimizer' DESC, total_ns DESC, template) = 1),
usual AS (
  SELECT lane, arg_max(tops, total_ns) AS tops FROM (
    SELECT lane, tops, sum(total_ns) AS total_ns FROM kinds WHERE kind <> 'index' AND numbering <> 'repeating' GROUP BY lane, tops)
  GROUP BY lane),
once AS (
  SELECT kinds.* FROM kinds JOIN usual USING (lane)
  WHERE kind <> 'index' AND numbering <> 'repeating' AND abs(kinds.tops - usual.tops) <= 1),
first_phases AS (
  SELECT lane, template FROM once WHERE lane NOT IN (SELECT lane FROM last_phases)
  QUALIFY row_number() OVER (PARTITION BY lane ORDER BY kind = 'data' DESC, kind = 'forward' DESC, gap_ns DESC NULLS LAST, start_ns) = 1),
usual_lead AS (
  SELECT lane, quantile_cont(lead_ns, 0.9) AS lead_ns FROM step_tops JOIN last_phases USING (lane, template) GROUP BY lane),
bounded AS (
  SELECT tops.lane, tops.template, name, numbering, start_ns, end_ns, tops.template = first_phases.template AS begins,
    tops.template = last_phases.template AND (tops.lead_ns IS NULL OR tops.lead_ns >= 0.1 * usual_lead.lead_ns) AS ends
  FROM step_tops AS tops LEFT JOIN first_phases USING (lane) LEFT JOIN last_phases USING (lane) LEFT JOIN usual_lead USING (lane)),
numbered AS (
  SELECT *, coalesce(sum(begins::INTEGER) OVER (PARTITION BY lane ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING),
    1 + coalesce(sum(ends::INTEGER) OVER (PARTITION BY lane ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0))
    AS cycle
  FROM bounded),
parts AS (
  SELECT lane, cycle, template, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
    max(CASE WHEN numbering = 'rising' THEN TRY_CAST(regexp_extract(name, '^\D*(\d+)\D*$', 1) AS BIGINT) END) AS number
  FROM numbered GROUP BY lane, cycle, template
  QUALIFY bool_or(coalesce(bool_or(begins), bool_or(ends))) OVER (PARTITION BY lane, cycle)),
cycles AS (SELECT lane, count(DISTINCT cycle) AS cycles FROM parts GROUP BY lane),
phases AS (
  SELECT lane, template, median(place) AS place
  FROM (SELECT *, start_ns - min(start_ns) OVER (PARTITION BY lane, cycle) AS place FROM parts) JOIN cycles USING (lane)
  WHERE lane IN (SELECT lane FROM last_phases) OR (lane, template) IN (SELECT (lane, template) FROM once)
  GROUP BY lane, template HAVING count(*) >= 2 AND count(*) >= 0.8 * (any_value(cycles) - 1)),
combined AS (
  SELECT lane, list(template ORDER BY place, template) AS templates FROM phases JOIN kinds USING (lane, template) GROUP BY lane
  HAVING count(*) >= 2 AND count(*) FILTER (kind NOT IN ('index', 'module')) >= 1)
SELECT lane, any_value(templates) AS templates, max(number) AS number, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM parts JOIN combined USING (lane) WHERE list_contains(templates, template)
GROUP BY lane, cycle HAVING count(*) = any_value(len(templates))
