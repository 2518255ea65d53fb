-- @name   export.run_of_lake
-- @title  What a block of a run comes to, the last row that a task writes to a lake
-- @param  run_id INTEGER    the run
-- @param  block INTEGER     number of the block
-- @param  blocks INTEGER    number of blocks
-- @param  is_local BOOLEAN  all ranks that were read are of this block
-- @param  schema_version INTEGER  of the store
-- @col    name VARCHAR        as the user calls the run; not unique in a lake
-- @col    label VARCHAR?      as given to lake add
-- @col    commit_sha VARCHAR? the commit, as given to lake add
-- @col    root_path VARCHAR   directory or file of the run
-- @col    task INTEGER        number of the task and its block; rank_block is another where lake compact put files together
-- @col    blocks INTEGER      blocks of the run; one row each shows which are there
-- @col    is_local BOOLEAN    added with --block local
-- @col    schema_version INTEGER  of the store that the rows were taken from
-- @col    started_us BIGINT?  first time in the logs, else of the first allocation, µs since 1970
-- @col    ranks BIGINT        ranks of the block
-- @col    snapshots BIGINT    memory snapshots of these ranks
-- @col    iterations BIGINT   different iterations that the logs print; 0 in a block that does not own the logs
-- @col    last_iteration BIGINT?  last iteration that the logs print
-- @col    peak_active_bytes BIGINT?  the largest of the snapshots
-- @col    printed_peak_allocated_bytes BIGINT?  allocated at most, by logs and metrics
-- @col    printed_peak_reserved_bytes BIGINT?   reserved at most, by logs and metrics
-- @col    traced_ooms BIGINT  oom entries of traces
-- @col    printed_ooms BIGINT? messages of logs; NULL: of some ranks they are not counted
-- @col    world_size BIGINT?  ranks of the run, by its settings
-- @col    stages BIGINT?      pipeline stages
-- @col    first_failed_rank INTEGER?  of the first failure of the run, by the files of the task
-- @col    first_failed_kind VARCHAR?  its kind, as in verdict; NULL: no failure
-- @col    first_failed_host VARCHAR?  its host
-- @col    first_failed_us BIGINT?  its time, µs since 1970 by the clock of its file
-- @why    It is written when all other rows of the block are: a block without it is not whole. Sums and largest values over the blocks
--         are those of the run.
WITH own AS (
  SELECT * FROM rank_summary
  WHERE run_id = $run_id AND ($is_local OR coalesce((rank // 8) % $blocks, 0) = $block)),
ranks AS (
  SELECT count(rank) AS ranks, sum(snapshots) AS snapshots, max(peak_active_bytes) AS peak_active,
    max(printed_peak_allocated_bytes) AS allocated, max(printed_peak_reserved_bytes) AS reserved,
    sum(traced_ooms) AS traced, CASE WHEN bool_and(printed_ooms IS NOT NULL) THEN sum(printed_ooms) WHEN count(*) = 0 THEN 0 END AS printed
  FROM own),
steps AS (
  SELECT count(DISTINCT iteration) AS iterations, max(iteration) AS last_iteration
  FROM iteration WHERE run_id = $run_id AND ($is_local OR $block = 0)),
logged AS (
  SELECT min(launch.time_us) AS us FROM source_attempt AS launch JOIN source USING (source_id) WHERE source.run_id = $run_id),
-- What code found to be the first failure; else that of the first verdict.
failed AS (
  SELECT coalesce(launch.kind, verdict.kind, CASE WHEN verdict.failure IS NOT NULL THEN 'cuda_oom' END) AS kind,
    CASE WHEN launch.kind IS NOT NULL THEN launch.rank WHEN verdict.failure IS NOT NULL THEN verdict.rank END AS rank
  FROM judged_run AS launch LEFT JOIN verdict ON verdict.run_id = launch.run_id AND verdict.number = 1
  WHERE launch.run_id = $run_id),
message AS (
  SELECT min(incident.time_us) AS us, min(incident.host) AS host
  FROM incident JOIN source USING (source_id), failed
  WHERE source.run_id = $run_id AND incident.kind = failed.kind AND coalesce(incident.rank, source.rank) IS NOT DISTINCT FROM failed.rank),
entry AS (
  SELECT max(entry.time_us) AS us FROM trace_entry AS entry JOIN snapshot USING (snapshot_id), failed
  WHERE snapshot.run_id = $run_id AND entry.action = 'oom' AND snapshot.rank = failed.rank),
traced AS (
  SELECT min(life.alloc_us) AS us FROM block_life AS life JOIN snapshot USING (snapshot_id)
  WHERE snapshot.run_id = $run_id AND (SELECT us FROM logged) IS NULL)
SELECT
  run.name, run.label, run.commit_sha, run.root_path, $block::INTEGER AS task, $blocks::INTEGER AS blocks, $is_local AS is_local,
  $schema_version::INTEGER AS schema_version, coalesce(logged.us, traced.us) AS started_us, ranks.ranks,
  coalesce(ranks.snapshots, 0)::BIGINT AS snapshots, steps.iterations, steps.last_iteration, ranks.peak_active AS peak_active_bytes,
  ranks.allocated AS printed_peak_allocated_bytes, ranks.reserved AS printed_peak_reserved_bytes,
  coalesce(ranks.traced, 0)::BIGINT AS traced_ooms, ranks.printed::BIGINT AS printed_ooms,
  launch.world_size, launch.stages, failed.rank AS first_failed_rank, failed.kind AS first_failed_kind,
  coalesce(place.host, message.host) AS first_failed_host, coalesce(message.us, entry.us) AS first_failed_us
FROM run
JOIN judged_run AS launch ON launch.run_id = run.run_id
CROSS JOIN ranks CROSS JOIN steps CROSS JOIN logged CROSS JOIN traced CROSS JOIN failed CROSS JOIN message CROSS JOIN entry
LEFT JOIN rank_summary AS place ON place.run_id = run.run_id AND place.rank = failed.rank
WHERE run.run_id = $run_id
LIMIT 1
