-- @name   verdict.arranged
-- @title  The verdicts on the failures of a run in the order in which they are printed, and which of them are only counted
-- @param  run_id  INTEGER
-- @param  fewest  BIGINT  so many, the first in that order, have their own evidence
-- @param  compared BIGINT  so do so many traces, the first ones
-- @param  most    BIGINT  with more kinds of failures than this, sizes and pipeline stages do not matter
-- @of     verdict
-- @needs  oom_fact
-- @why    Rows of verdict. Ranks that fail together fail alike: to describe each of ten thousand takes a minute and fills 100 MB. A failure
--         is counted with another one if the verdict, the answers of all tests, the settings, the place in the code and the figures
--         that are known do not differ, nor its request and pipeline stage. The most confident come first (ranks that fail together
--         fail alike, and one of them left a snapshot). Of several, the one with the first failure comes first, then by rank and device.
WITH launch AS (FROM judged_run WHERE run_id = $run_id),
answer AS MATERIALIZED (
  SELECT rule.*, coalesce(launch.kind IS NOT NULL AND rule.rank IS NOT DISTINCT FROM launch.rank
      AND (launch.device IS NULL OR rule.device = launch.device), false) AS is_first,
    rule.rank // launch.stage_stride % launch.stages AS stage
  FROM rule_verdict AS rule JOIN launch ON launch.run_id = rule.run_id),
test AS (
  SELECT failure, sum(hash({place: place, cause: cause, outcome: outcome, reason: reason, detail: detail, confidence: confidence,
    capture: capture, doubts: doubts})) AS answers
  FROM cause_test WHERE run_id = $run_id GROUP BY failure),
part AS (SELECT failure, sum(hash({part: part, serves: serves})) AS parts FROM oom_part WHERE run_id = $run_id GROUP BY failure),
described AS MATERIALIZED (
  SELECT answer.*,
    row_number() OVER (ORDER BY list_position(['proven', 'high', 'medium', 'low'], answer.confidence),
      answer.cause IS DISTINCT FROM (SELECT arg_min(cause, failure) FROM answer WHERE is_first), NOT is_first, coalesce(answer.rank, -1),
      coalesce(answer.device, -1), answer.failure) AS place,
    {request: fact.request_bytes, stage: answer.stage} AS size,
    {kind: answer.kind, cause: answer.cause, detail: answer.detail, confidence: answer.confidence, basis: answer.basis,
      reason: answer.reason, capture: answer.capture, rivals: answer.untested_rivals, doubts: answer.doubts, proven: answer.is_proven,
      contradicted: answer.contradicted_by, replay: answer.replay_status, tests: test.answers, parts: part.parts,
      traced: fact.snapshot_id IS NULL, total: fact.total_bytes, total_from: fact.total_from, expandable: fact.is_expandable,
      run_activity: fact.run_activity, trace_activity: fact.trace_activity, impossible: fact.impossible, grammar: incident.grammar,
      exception: incident.exception, frames: incident.frames, code: translate(split_part(incident.text, 'CUDA', 1), '0123456789', ''),
      advice: [contains(incident.text, 'max_split_size_mb'), contains(incident.text, 'expandable_segments')],
      settings: [judged.is_expandable::VARCHAR, judged.max_split_bytes::VARCHAR, judged.activity, judged.nccl_signs::VARCHAR],
      evaluating: EXISTS (
        SELECT 1 FROM log_phase WHERE log_phase.source_id = incident.source_id AND log_phase.format = 'progress.evaluation'
          AND log_phase.line BETWEEN coalesce(incident.traceback_line, incident.line) - 3 AND incident.line),
      unknown: [fact.rank IS NULL, fact.device IS NULL, fact.request_bytes IS NULL, fact.segment_request_bytes IS NULL,
        fact.reserved_bytes IS NULL, fact.allocated_bytes IS NULL, fact.device_free_bytes IS NULL, fact.process_bytes IS NULL,
        fact.other_processes_bytes = 0, fact.allowed_bytes IS NULL, fact.private_free_bytes IS NULL, fact.growth_path IS NULL,
        fact.early_path IS NULL, fact.next_stage IS NULL, fact.others_reserved_rank IS NULL, lines.own_reserved_bytes IS NULL,
        judged.driver_outside_bytes IS NULL, judged.monitored_total_bytes IS NULL, judged.monitored_others_bytes IS NULL]} AS facts
  FROM answer
  JOIN oom_fact AS fact ON fact.run_id = answer.run_id AND fact.failure = answer.failure
  LEFT JOIN test ON test.failure = answer.failure
  LEFT JOIN part ON part.failure = answer.failure
  LEFT JOIN incident ON incident.incident_id = answer.incident_id
  LEFT JOIN judged_rank AS judged ON judged.run_id = answer.run_id AND judged.rank IS NOT DISTINCT FROM answer.rank
  LEFT JOIN judged_lines AS lines ON lines.run_id = answer.run_id AND lines.rank IS NOT DISTINCT FROM answer.rank),
kinds AS (SELECT count(*) > $most AS are_many FROM (SELECT DISTINCT facts, size FROM described)),
grouped AS (
  SELECT described.* EXCLUDE (facts, size),
    min(place) OVER (PARTITION BY facts, CASE WHEN kinds.are_many THEN NULL ELSE size END) AS first_place
  FROM described CROSS JOIN kinds),
numbered AS (
  SELECT *, place > $fewest AND place > first_place AND NOT (snapshot_id IS NOT NULL AND failure < $compared) AS is_counted,
    row_number() OVER (ORDER BY is_counted, place) AS number
  FROM grouped)
SELECT numbered.run, numbered.run_id, numbered.number::INTEGER AS number, numbered.failure, numbered.rank, numbered.device,
  numbered.snapshot_id, numbered.seq, numbered.incident_id, numbered.kind, numbered.cause, numbered.detail, numbered.confidence,
  numbered.basis, numbered.reason, numbered.capture, numbered.untested_rivals, numbered.doubts, numbered.is_proven,
  numbered.contradicted_by, numbered.replay_status,
  CASE WHEN numbered.is_counted THEN leader.number END::INTEGER AS counted_with
FROM numbered JOIN numbered AS leader ON leader.place = numbered.first_place
ORDER BY number
