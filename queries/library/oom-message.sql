-- @name   library.oom_message
-- @kind   view
-- @title  Every failure message, with the figures that follow from what it prints
-- @needs  incident
-- @col    run             VARCHAR
-- @col    run_id          INTEGER
-- @col    incident_id     INTEGER
-- @col    kind            VARCHAR
-- @col    is_oom          BOOLEAN
-- @col    rank            INTEGER?  from the line's prefix, else the file's
-- @col    device          INTEGER?
-- @col    attempt         INTEGER   launch of the run
-- @col    path            VARCHAR
-- @col    line            BIGINT
-- @col    text            VARCHAR
-- @col    figures         BIGINT    printed ones, processes not counted
-- @col    requested_bytes BIGINT?   the segment that torch wanted
-- @col    requested_precision_bytes BIGINT?  half of the last printed digit; so for all figures
-- @col    total_bytes     BIGINT?   of the device
-- @col    total_precision_bytes BIGINT?
-- @col    free_bytes      BIGINT?   of the device
-- @col    free_precision_bytes BIGINT?
-- @col    reserved_bytes  BIGINT?   printed (1.4 to 2.0), or allocated + unallocated (1.0 to 1.3, and from 2.1 on)
-- @col    reserved_precision_bytes BIGINT?
-- @col    allocated_bytes BIGINT?   without the free blocks of private pools, which torch 2.4 and later print as allocated
-- @col    allocated_precision_bytes BIGINT?
-- @col    private_free_bytes BIGINT?  free blocks of private pools
-- @col    private_free_precision_bytes BIGINT?
-- @col    process_bytes   BIGINT?   this process, memory outside PyTorch included
-- @col    process_precision_bytes BIGINT?
-- @col    other_processes_bytes BIGINT?
-- @col    other_processes_precision_bytes BIGINT?
-- @col    allowed_bytes   BIGINT?   limit of a memory fraction
-- @col    allowed_precision_bytes BIGINT?
-- @why    In a container torch does not recognise its own pid: of the listed processes the only one that uses at least the reserve is then
--         this process. A sum is as exact as the figures in it together.
WITH value AS (
  SELECT incident_id,
    max(bytes) FILTER (field = 'requested') AS requested, max(precision_bytes) FILTER (field = 'requested') AS requested_p,
    max(bytes) FILTER (field = 'total') AS total, max(precision_bytes) FILTER (field = 'total') AS total_p,
    max(bytes) FILTER (field = 'free') AS free, max(precision_bytes) FILTER (field = 'free') AS free_p,
    max(bytes) FILTER (field = 'process') AS process, max(precision_bytes) FILTER (field = 'process') AS process_p,
    max(bytes) FILTER (field = 'allocated') AS allocated, max(precision_bytes) FILTER (field = 'allocated') AS allocated_p,
    max(bytes) FILTER (field = 'reserved') AS reserved, max(precision_bytes) FILTER (field = 'reserved') AS reserved_p,
    max(bytes) FILTER (field = 'reserved_unallocated') AS cached, max(precision_bytes) FILTER (field = 'reserved_unallocated') AS cached_p,
    max(bytes) FILTER (field = 'private_pool') AS idle, max(precision_bytes) FILTER (field = 'private_pool') AS idle_p,
    max(bytes) FILTER (field = 'allowed') AS allowed, max(precision_bytes) FILTER (field = 'allowed') AS allowed_p,
    list({bytes: bytes, p: precision_bytes}) FILTER (field = 'process_named') AS named,
    count(*) FILTER (field <> 'process_named') AS figures
  FROM incident_value GROUP BY incident_id),
figure AS (
  SELECT * REPLACE (coalesce(reserved, allocated + cached) AS reserved,
      CASE WHEN reserved IS NULL THEN allocated_p + cached_p ELSE reserved_p END AS reserved_p,
      allocated - coalesce(idle, 0) AS allocated, allocated_p + coalesce(idle_p, 0) AS allocated_p)
  FROM value),
divided AS (
  SELECT *, CASE WHEN process IS NULL THEN list_filter(named, lambda each: each.bytes + each.p >= reserved - reserved_p) ELSE [] END AS own
  FROM figure),
process AS (
  SELECT *, CASE WHEN len(own) = 1 THEN list_filter(named, lambda each: (each.bytes + each.p >= reserved - reserved_p) IS NOT TRUE)
    ELSE named END AS others
  FROM divided)
SELECT
  run.name AS run, source.run_id, incident.incident_id, incident.kind, incident.is_oom, coalesce(incident.rank, source.rank) AS rank,
  incident.device, source.attempt + coalesce(incident.attempt, 1) - 1 AS attempt, source.display_path AS path, incident.line,
  incident.text, coalesce(figure.figures, 0) AS figures, figure.requested AS requested_bytes,
  figure.requested_p::BIGINT AS requested_precision_bytes,
  figure.total AS total_bytes, figure.total_p::BIGINT AS total_precision_bytes, figure.free AS free_bytes,
  figure.free_p::BIGINT AS free_precision_bytes, figure.reserved AS reserved_bytes, figure.reserved_p::BIGINT AS reserved_precision_bytes,
  figure.allocated AS allocated_bytes, figure.allocated_p::BIGINT AS allocated_precision_bytes, figure.idle AS private_free_bytes,
  figure.idle_p::BIGINT AS private_free_precision_bytes,
  CASE WHEN len(figure.own) = 1 THEN figure.own[1].bytes ELSE figure.process END AS process_bytes,
  CASE WHEN len(figure.own) = 1 THEN figure.own[1].p ELSE figure.process_p END AS process_precision_bytes,
  list_sum(list_transform(figure.others, lambda each: each.bytes))::BIGINT AS other_processes_bytes,
  list_sum(list_transform(figure.others, lambda each: each.p))::BIGINT AS other_processes_precision_bytes,
  figure.allowed AS allowed_bytes, figure.allowed_p::BIGINT AS allowed_precision_bytes
FROM incident
JOIN source ON source.source_id = incident.source_id
JOIN run ON run.run_id = source.run_id
LEFT JOIN process AS figure ON figure.incident_id = incident.incident_id
