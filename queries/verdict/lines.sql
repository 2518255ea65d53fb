-- @name   verdict.lines
-- @title  What the memory lines of some runs show of the ranks that failed, and of the other ranks
-- @param  run_ids VARCHAR  of runs, joined by commas; judged_run and judged_rank have their rows
-- @param  ranks   VARCHAR?  NULL: the memory lines of all ranks
-- @param  attempts VARCHAR?  the judged launch of each, in their order
-- @uses   log.memory_ranks
-- @of     judged_lines
-- @why    Rows of judged_lines. A message does not show whether memory grew, what other pipeline stages need, or what other ranks
--         reserved. The fullest rank of a stage is that with the most allocated rather than reserved memory: the cache does not show the
--         need. Where a rank printed nothing, the fullest rank of its stage is taken.
WITH launch AS (
  SELECT * FROM judged_run WHERE list_contains(string_split($run_ids, ',')::INTEGER[], run_id)),
-- Of several devices of a rank, the last one goes for what it held, the first one for its peaks.
figure AS (
  SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY attempt, rank NULLS FIRST, device NULLS FIRST) AS place
  FROM memory_ranks
  WHERE metric IN ('allocated', 'reserved', 'max_allocated', 'max_reserved')),
of_rank AS (
  SELECT figure.run_id, figure.rank,
    arg_max(figure, place) FILTER (metric = 'allocated') AS allocated,
    arg_max(figure, place) FILTER (metric = 'reserved') AS reserved,
    arg_min(figure, place) FILTER (metric = 'allocated') AS first_allocated,
    arg_min(figure, place) FILTER (metric = 'max_allocated') AS peak,
    arg_max(figure, place) FILTER (metric = 'max_reserved') AS max_reserved,
    max({bytes: max_bytes, place: -place, rank: rank, path: display_path, line: line})
      FILTER (metric = 'max_reserved' AND max_bytes IS NOT NULL AND rank IS NOT NULL) AS most_reserved,
    max({bytes: max_bytes, place: -place, rank: rank})
      FILTER (metric = 'max_allocated' AND max_bytes IS NOT NULL AND rank IS NOT NULL) AS fullest
  FROM figure
  GROUP BY figure.run_id, figure.rank),
of_run AS (
  SELECT run_id, count(most_reserved) AS reserving_ranks, max(most_reserved, 2) FILTER (most_reserved IS NOT NULL) AS most_reserved,
    min({place: peak.place, path: peak.display_path, line: peak.line}) FILTER (peak IS NOT NULL) AS lines
  FROM of_rank
  GROUP BY run_id),
stage AS (
  SELECT of_rank.run_id, of_rank.rank // launch.stage_stride % launch.stages AS stage, max(of_rank.fullest) AS fullest
  FROM of_rank
  JOIN launch ON launch.run_id = of_rank.run_id AND of_rank.rank BETWEEN 0 AND launch.world_size - 1
  WHERE of_rank.fullest IS NOT NULL AND launch.stage_stride IS NOT NULL
  GROUP BY ALL),
stages AS (
  SELECT run_id, list({stage: stage, rank: fullest.rank, bytes: fullest.bytes} ORDER BY fullest.bytes DESC, stage) AS stages
  FROM stage GROUP BY run_id),
failed AS (
  SELECT source.run_id, min(coalesce(incident.rank, source.rank) // launch.stage_stride % launch.stages) AS first_stage,
    max(coalesce(incident.rank, source.rank) // launch.stage_stride % launch.stages) AS last_stage,
    count(DISTINCT coalesce(incident.rank, source.rank) // launch.replica_stride % launch.replicas) > 1 AS are_replicas
  FROM incident
  JOIN source ON source.source_id = incident.source_id
  JOIN launch ON launch.run_id = source.run_id AND source.attempt + coalesce(incident.attempt, 1) - 1 = launch.attempt
    AND coalesce(incident.rank, source.rank) BETWEEN 0 AND launch.world_size - 1
  WHERE incident.is_oom AND launch.stage_stride IS NOT NULL
  GROUP BY source.run_id),
context AS (
  SELECT judged.run_id, judged.rank, judged.own_rank, launch.last_iteration, stages.stages,
    CASE WHEN judged.own_rank BETWEEN 0 AND launch.world_size - 1 THEN judged.own_rank // launch.stage_stride % launch.stages END AS stage
  FROM judged_rank AS judged
  JOIN launch ON launch.run_id = judged.run_id
  LEFT JOIN stages ON stages.run_id = judged.run_id),
side AS (
  SELECT *, list_filter(stages, lambda each: each.stage = stage)[1] AS own_stage,
    CASE WHEN stage IS NOT NULL THEN list_filter(stages, lambda each: each.stage <> stage)[1] END AS next_stage
  FROM context),
read AS (
  SELECT side.*, own.allocated, own.reserved, own.max_reserved, fullest.peak.max_bytes AS stage_peak_bytes,
    own.peak.max_bytes AS own_peak_bytes,
    CASE WHEN own.first_allocated IS NULL THEN fullest.first_allocated ELSE own.first_allocated END AS early,
    CASE WHEN own.peak IS NULL THEN fullest.peak.max_bytes ELSE own.peak.max_bytes END AS early_peak_bytes,
    of_run.lines, of_run.reserving_ranks - CASE WHEN own.most_reserved IS NULL THEN 0 ELSE 1 END AS other_ranks,
    CASE WHEN of_run.most_reserved[1].rank = side.own_rank THEN of_run.most_reserved[2] ELSE of_run.most_reserved[1] END AS others
  FROM side
  LEFT JOIN of_run ON of_run.run_id = side.run_id
  LEFT JOIN of_rank AS own ON own.run_id = side.run_id AND own.rank IS NOT DISTINCT FROM side.own_rank
  LEFT JOIN of_rank AS fullest ON fullest.run_id = side.run_id AND fullest.rank IS NOT DISTINCT FROM side.own_stage.rank),
-- The first sampled iteration is left out. Where Megatron prints memory after two early iterations only, its default, these two are kept:
-- three or more make a trend of their own.
trend AS (
  SELECT *,
    allocated.growth_bytes IS NOT NULL AND allocated.last_bytes IS NOT NULL AND allocated.last_iteration IS NOT NULL
      AND allocated.growth_first_bytes IS NOT NULL AND allocated.growth_first_iteration IS NOT NULL AS has_growth,
    reserved.growth_bytes IS NOT NULL AND reserved.last_bytes IS NOT NULL AND reserved.last_iteration IS NOT NULL
      AND reserved.growth_first_bytes IS NOT NULL AND reserved.growth_first_iteration IS NOT NULL AS has_reserved_growth,
    coalesce(early.growth_samples = 1 AND early.first_bytes IS NOT NULL AND early.last_bytes IS NOT NULL AND early_peak_bytes IS NOT NULL
      AND early.first_iteration IS NOT NULL AND last_iteration IS NOT NULL, false) AS is_early
  FROM read)
SELECT
  trend.run_id, trend.rank,
  CASE WHEN has_growth THEN allocated.growth_samples::INTEGER END AS growth_samples,
  CASE WHEN has_growth THEN allocated.growth_first_bytes END AS growth_first_bytes,
  CASE WHEN has_growth THEN allocated.growth_first_iteration END AS growth_first_iteration,
  CASE WHEN has_growth THEN allocated.last_bytes END AS growth_last_bytes,
  CASE WHEN has_growth THEN allocated.last_iteration END AS growth_last_iteration,
  CASE WHEN has_growth THEN allocated.growth_late_bytes END AS growth_late_bytes,
  CASE WHEN has_growth THEN allocated.growth_bytes END AS growth_bytes_per_iteration,
  CASE WHEN has_growth THEN coalesce(allocated.r2, 0) END AS growth_r2,
  CASE WHEN has_growth THEN allocated.display_path END AS growth_path,
  CASE WHEN has_reserved_growth THEN reserved.growth_samples::INTEGER END AS reserved_growth_samples,
  CASE WHEN has_reserved_growth THEN reserved.last_bytes - reserved.growth_first_bytes END AS reserved_growth_bytes,
  CASE WHEN has_reserved_growth THEN reserved.last_bytes END AS reserved_growth_last_bytes,
  CASE WHEN has_reserved_growth THEN coalesce(reserved.r2, 0) END AS reserved_growth_r2,
  coalesce(own_peak_bytes, stage_peak_bytes, own_stage.bytes) AS highest_bytes,
  stage::INTEGER AS stage, own_stage.bytes AS own_stage_bytes, own_stage.rank AS own_stage_rank,
  next_stage.stage::INTEGER AS next_stage, next_stage.bytes AS next_stage_bytes, next_stage.rank AS next_stage_rank,
  stage IS NOT NULL AND coalesce(failed.first_stage = stage AND failed.last_stage = stage, true) AS only_this_stage,
  coalesce(failed.are_replicas, false) AS several_replicas, lines.path AS lines_path, lines.line AS lines_line,
  CASE WHEN is_early THEN early.first_iteration END AS early_first_iteration,
  CASE WHEN is_early THEN early.last_iteration END AS early_second_iteration,
  CASE WHEN is_early THEN last_iteration END AS early_last_iteration,
  CASE WHEN is_early THEN (early.last_bytes - early.first_bytes)::DOUBLE / (early.last_iteration - early.first_iteration) END
    AS early_bytes_per_iteration,
  CASE WHEN is_early THEN early_peak_bytes END AS early_peak_bytes, CASE WHEN is_early THEN early.display_path END AS early_path,
  CASE WHEN is_early THEN early.line END AS early_line,
  other_ranks::INTEGER AS other_ranks, others.bytes AS others_reserved_bytes, others.rank AS others_reserved_rank,
  others.path AS others_reserved_path, others.line AS others_reserved_line, max_reserved.max_bytes AS own_reserved_bytes
FROM trend
LEFT JOIN failed ON failed.run_id = trend.run_id
ORDER BY trend.run_id, trend.rank
