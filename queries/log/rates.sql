-- @name   log.rates
-- @title  Throughput and step times without a column of an iteration line, by name
-- @param  run_id INTEGER
-- @col    kind         VARCHAR  rate or time
-- @col    name         VARCHAR  as printed, behind its producer
-- @col    unit         VARCHAR? NULL where only the name has it
-- @col    format       VARCHAR  of the last one
-- @col    median       DOUBLE
-- @col    last         DOUBLE
-- @col    count        BIGINT
-- @needs  log_figure
-- @why    A trainer prints its pace in its own words: shown are the words and the figure. Peaks of a device and the parts of a profile are
--         not the pace of the run.
WITH names AS (
  SELECT text_id, text AS name,
    CASE
      WHEN regexp_matches(text, '(?:^|[._ /])(?:(?:step|iter|iteration)[._ ]?time|s_per_it|iteration_s|latency_s)', 'i') THEN 'time'
      ELSE 'rate'
    END AS kind
  FROM text_value
  WHERE (regexp_matches(text, '(?:^|[._ /])(?:tps|wps|mfu|throughput)(?:$|[_/ ])', 'i')
      OR regexp_matches(text, '(?:^|[._ /])(?:train_)?'
        || '(?:tok|tokens?|samples?|steps?|batches|words|seqs?|sequences|examples|images|iterations)'
        || '(?:_per_| per |/)(?:s|sec|seconds?|device|gpu)(?:$|[_/ ])', 'i')
      OR regexp_matches(text, 'tflops?(?:$|_per_)|(?:step|iter|iteration)[._ ]?time(?:$|\.m?s$)', 'i')
      OR regexp_matches(text, '^progress\.s_per_it|\.(?:iteration|latency)_s$', 'i'))
    AND NOT regexp_matches(text, '(?:^|[._])(?:eval|validation|val|test|predict|gpu|flops_profiler|theory|time_ms)(?:[._]|$)', 'i')
    AND NOT starts_with(text, 'timer.')),
latest AS (
  SELECT log.name_id, names.name, names.kind, count(*) AS count, median(log.value) AS median,
    max_by(struct_pack(value := log.value, unit_id := log.unit_id, format_id := log.format_id),
      struct_pack(a := source.attempt + log.attempt, b := log.rowid)) AS picked
  FROM log_figure AS log JOIN names ON names.text_id = log.name_id JOIN source USING (source_id)
  WHERE source.run_id = $run_id AND isfinite(log.value)
  GROUP BY ALL)
SELECT latest.kind, replace(latest.name, 'iteration.', '') AS name, unit.text AS unit, format.text AS format, latest.median,
  latest.picked.value AS last, latest.count
FROM latest
LEFT JOIN text_value AS unit ON unit.text_id = latest.picked.unit_id
JOIN text_value AS format ON format.text_id = latest.picked.format_id
ORDER BY latest.kind, latest.name
