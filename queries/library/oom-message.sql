-- @name   library.oom_message
-- @kind   view
-- @title  Every failure message, with the figures that follow from what it prints
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
-- @col    sibling_processes INTEGER other processes of one small size, as the contexts of this job's other ranks
-- @col    sibling_bytes   BIGINT
-- @col    impossible      VARCHAR[] figures that the rest of the message contradicts, as printed: they are left out
-- @col    allowed_bytes   BIGINT?   limit of a memory fraction
-- @col    allowed_precision_bytes BIGINT?
-- @col    cached_precision_bytes BIGINT? of reserved less allocated: where a message prints what is cached, the rest cancels
-- @why    In a container torch does not recognise its own pid: of the listed processes the only one that uses at least the reserve is then
--         this process. A sum is as exact as the figures in it together. NVML gives 0 bytes, or 2^34 GiB, for processes that it cannot see:
--         a process that holds less than its reserve, or more than the device, is left out, and so is a limit above the device. Contexts of
--         sibling ranks on one device (no set_device) are alike, each 0.2 to 1.2 GiB.
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
    list({bytes: bytes, p: precision_bytes, printed: printed}) FILTER (field = 'process_named') AS named,
    max(printed) FILTER (field = 'process') AS process_printed, max(printed) FILTER (field = 'allowed') AS allowed_printed,
    count(*) FILTER (field <> 'process_named') AS figures
  FROM incident_value GROUP BY incident_id),
figure AS (
  SELECT * REPLACE (coalesce(reserved, allocated + cached) AS reserved,
      CASE WHEN reserved IS NULL THEN allocated_p + cached_p ELSE reserved_p END AS reserved_p,
      allocated - coalesce(idle, 0) AS allocated, allocated_p + coalesce(idle_p, 0) AS allocated_p),
    coalesce(CASE WHEN reserved IS NULL THEN cached_p END, reserved_p + allocated_p) + coalesce(idle_p, 0) AS free_inside_p
  FROM value),
checked AS (
  SELECT * REPLACE (CASE WHEN coalesce(process + process_p < reserved - reserved_p, false) OR coalesce(process > total + total_p, false)
        THEN NULL ELSE process END AS process,
      CASE WHEN coalesce(allowed > total + total_p, false) THEN NULL ELSE allowed END AS allowed,
      list_filter(named, lambda each: coalesce(each.bytes <= total + total_p, true)) AS named),
    list_concat(
      CASE WHEN process + process_p < reserved - reserved_p OR process > total + total_p THEN [process_printed] ELSE [] END,
      CASE WHEN allowed > total + total_p THEN [allowed_printed] ELSE [] END,
      list_transform(list_filter(named, lambda each: each.bytes > total + total_p), lambda each: each.printed)) AS impossible
  FROM figure),
divided AS (
  SELECT *, CASE WHEN process IS NULL THEN list_filter(named, lambda each: each.bytes + each.p >= reserved - reserved_p) ELSE [] END AS own
  FROM checked),
listed AS (
  SELECT * REPLACE (CASE WHEN len(own) = 1 THEN own[1].bytes ELSE process END AS process,
      CASE WHEN len(own) = 1 THEN own[1].p ELSE process_p END AS process_p),
    CASE WHEN len(own) = 1 THEN list_filter(named, lambda each: (each.bytes + each.p >= reserved - reserved_p) IS NOT TRUE)
      ELSE named END AS others
  FROM divided),
-- More than the device in all: what is listed besides this process is not on this device, or is this process again.
process AS (
  SELECT * REPLACE (
      CASE WHEN list_sum(list_transform(others, lambda each: each.bytes - each.p)) > total + total_p - free + free_p
          - coalesce(process - process_p, reserved - reserved_p, 0) THEN [] ELSE others END AS others,
      CASE WHEN list_sum(list_transform(others, lambda each: each.bytes - each.p)) > total + total_p - free + free_p
          - coalesce(process - process_p, reserved - reserved_p, 0)
        THEN list_concat(impossible, list_transform(others, lambda each: each.printed)) ELSE impossible END AS impossible)
  FROM listed),
small AS (
  SELECT *, list_filter(others, lambda each: each.bytes BETWEEN 134217728 AND 1288490189
    AND len(list_filter(others, lambda other: abs(other.bytes - each.bytes) <= 0.1 * each.bytes)) > 1) AS siblings
  FROM process)
SELECT
  run.name AS run, source.run_id, incident.incident_id, incident.kind, incident.is_oom, coalesce(incident.rank, source.rank) AS rank,
  incident.device, source.attempt + coalesce(incident.attempt, 1) - 1 AS attempt, source.display_path AS path, incident.line,
  incident.text, coalesce(figure.figures, 0) AS figures, figure.requested AS requested_bytes,
  figure.requested_p::BIGINT AS requested_precision_bytes,
  figure.total AS total_bytes, figure.total_p::BIGINT AS total_precision_bytes, figure.free AS free_bytes,
  figure.free_p::BIGINT AS free_precision_bytes, figure.reserved AS reserved_bytes, figure.reserved_p::BIGINT AS reserved_precision_bytes,
  figure.allocated AS allocated_bytes, figure.allocated_p::BIGINT AS allocated_precision_bytes, figure.idle AS private_free_bytes,
  figure.idle_p::BIGINT AS private_free_precision_bytes,
  figure.process AS process_bytes, CASE WHEN figure.process IS NOT NULL THEN figure.process_p END AS process_precision_bytes,
  list_sum(list_transform(figure.others, lambda each: each.bytes))::BIGINT AS other_processes_bytes,
  list_sum(list_transform(figure.others, lambda each: each.p))::BIGINT AS other_processes_precision_bytes,
  coalesce(len(figure.siblings), 0)::INTEGER AS sibling_processes,
  coalesce(list_sum(list_transform(figure.siblings, lambda each: each.bytes)), 0)::BIGINT AS sibling_bytes,
  -- What cannot be a size at all was left out by the reader, with a note.
  list_concat(coalesce(figure.impossible, []), CASE WHEN EXISTS (FROM ingest_note AS note WHERE note.source_id = incident.source_id
    AND note.line = incident.line AND note.kind = 'impossible_figure') THEN ['2^63 bytes or more'] ELSE [] END) AS impossible,
  figure.allowed AS allowed_bytes, CASE WHEN figure.allowed IS NOT NULL THEN figure.allowed_p END::BIGINT AS allowed_precision_bytes,
  figure.free_inside_p::BIGINT AS cached_precision_bytes
FROM incident
JOIN source ON source.source_id = incident.source_id
JOIN run ON run.run_id = source.run_id
LEFT JOIN small AS figure ON figure.incident_id = incident.incident_id
