-- @name   library.run_summary
-- @kind   table
-- @title  One row per run: ranks, snapshots, iterations, the largest peaks, failures
-- @col    run                 VARCHAR  name of the run
-- @col    run_id              INTEGER  the run
-- @col    label               VARCHAR?  as given to ingest
-- @col    commit_sha          VARCHAR?  the commit, as given to ingest
-- @col    ranks               BIGINT    ranks that a snapshot or a log names
-- @col    snapshots           BIGINT  number of snapshots
-- @col    iterations          BIGINT    different iterations that the logs print
-- @col    last_iteration      BIGINT?  last iteration printed
-- @col    peak_active_bytes   BIGINT?   the largest of the snapshots
-- @col    peak_rank           INTEGER?  the rank that has it
-- @col    printed_peak_allocated_bytes BIGINT?  allocated at most, by logs and metrics
-- @col    printed_peak_reserved_bytes  BIGINT?  reserved at most, by logs and metrics
-- @col    traced_ooms         BIGINT    oom entries of traces
-- @col    printed_ooms        BIGINT?   messages of logs; NULL: of some ranks they are not counted
-- @why    What a store contains, and which run failed.
WITH of_ranks AS (
  SELECT run_id, count(rank) AS ranks, sum(snapshots) AS snapshots, max(peak_active_bytes) AS peak_active,
    arg_max(rank, peak_active_bytes) AS peak_rank,
    max(printed_peak_allocated_bytes) AS allocated, max(printed_peak_reserved_bytes) AS reserved, sum(traced_ooms) AS traced_ooms,
    CASE WHEN bool_and(printed_ooms IS NOT NULL) THEN sum(printed_ooms) END AS printed_ooms
  FROM rank_summary GROUP BY run_id),
steps AS (SELECT run_id, count(DISTINCT iteration) AS iterations, max(iteration) AS last_iteration FROM iteration GROUP BY run_id)
SELECT
  run.name AS run, run.run_id, run.label, run.commit_sha, coalesce(of_ranks.ranks, 0) AS ranks,
  coalesce(of_ranks.snapshots, 0)::BIGINT AS snapshots,
  coalesce(steps.iterations, 0) AS iterations, steps.last_iteration, of_ranks.peak_active AS peak_active_bytes, of_ranks.peak_rank,
  of_ranks.allocated AS printed_peak_allocated_bytes, of_ranks.reserved AS printed_peak_reserved_bytes,
  coalesce(of_ranks.traced_ooms, 0)::BIGINT AS traced_ooms,
  CASE WHEN of_ranks.run_id IS NULL THEN 0 ELSE of_ranks.printed_ooms END::BIGINT AS printed_ooms
FROM run
LEFT JOIN of_ranks ON of_ranks.run_id = run.run_id
LEFT JOIN steps ON steps.run_id = run.run_id
