/**
 * The schema, as a list of steps. A store at version n runs the steps above n, each in its own transaction. Steps are
 * frozen once released: later wishes are later steps. `docs/sql.md` describes the tables.
 *
 * Bytes are integers in columns ending `_bytes`, times `_us`/`_ns`; unknown is NULL. The large tables (`event`,
 * `block`, `segment`) carry no index: their rows arrive clustered by (snapshot_id, device, seq), so DuckDB's zone maps
 * already find ranges, and an index would have to be kept in memory.
 */

export interface Migration {
  readonly version: number;
  readonly title: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    title: 'runs, sources, memory snapshots, incidents',
    sql: `
CREATE TYPE trace_action AS ENUM ('alloc', 'free_requested', 'free_completed', 'segment_alloc', 'segment_free', 'segment_map', 'segment_unmap', 'snapshot', 'oom', 'user_defined', 'annotate', 'workspace_snapshot', 'empty_cache', 'other');
CREATE TYPE block_state AS ENUM ('active_allocated', 'active_pending_free', 'inactive');
CREATE TYPE annotation_stage AS ENUM ('START', 'END', 'other');
CREATE TYPE segment_type AS ENUM ('small', 'large', 'unknown');

CREATE TABLE run (
  run_id INTEGER NOT NULL, name VARCHAR NOT NULL, label VARCHAR, commit_sha VARCHAR, root_path VARCHAR NOT NULL, created_at TIMESTAMP NOT NULL, touched_at TIMESTAMP NOT NULL);
CREATE TABLE attempt (
  run_id INTEGER NOT NULL, attempt INTEGER NOT NULL, origin VARCHAR NOT NULL);
CREATE TABLE source (
  source_id INTEGER NOT NULL, run_id INTEGER NOT NULL, attempt INTEGER NOT NULL, path VARCHAR NOT NULL, display_path VARCHAR NOT NULL, format VARCHAR,
  status VARCHAR NOT NULL, file_bytes BIGINT NOT NULL, sha256 VARCHAR, parser_version INTEGER NOT NULL, rank INTEGER, rank_origin VARCHAR,
  error_code VARCHAR, error_text VARCHAR, error_offset BIGINT, ingested_at TIMESTAMP NOT NULL);
CREATE TABLE ingest_note (
  source_id INTEGER NOT NULL, kind VARCHAR NOT NULL, severity VARCHAR NOT NULL, text VARCHAR NOT NULL, count BIGINT NOT NULL, byte_offset BIGINT, line BIGINT, device INTEGER, seq INTEGER);

CREATE TABLE text_value (text_id INTEGER NOT NULL, text VARCHAR NOT NULL);
CREATE TABLE frame (frame_id INTEGER NOT NULL, name VARCHAR NOT NULL, filename VARCHAR NOT NULL, line INTEGER NOT NULL);
CREATE TABLE stack (stack_id INTEGER NOT NULL, depth INTEGER NOT NULL, content_key VARCHAR NOT NULL);
CREATE TABLE stack_frame (stack_id INTEGER NOT NULL, pos INTEGER NOT NULL, frame_id INTEGER NOT NULL);

CREATE TABLE snapshot (
  snapshot_id INTEGER NOT NULL, source_id INTEGER NOT NULL, run_id INTEGER NOT NULL, rank INTEGER, handle VARCHAR NOT NULL, protocol INTEGER NOT NULL, form VARCHAR NOT NULL,
  has_traces BOOLEAN NOT NULL, last_is_oom BOOLEAN NOT NULL);
CREATE TABLE snapshot_feature (snapshot_id INTEGER NOT NULL, feature VARCHAR NOT NULL);
CREATE TABLE snapshot_setting (snapshot_id INTEGER NOT NULL, key VARCHAR NOT NULL, value VARCHAR NOT NULL);
CREATE TABLE snapshot_pool (snapshot_id INTEGER NOT NULL, pool INTEGER NOT NULL, pool_id_a BIGINT NOT NULL, pool_id_b BIGINT NOT NULL);
CREATE TABLE snapshot_device (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, segments BIGINT NOT NULL, blocks BIGINT NOT NULL,
  reserved_bytes BIGINT NOT NULL, allocated_bytes BIGINT NOT NULL, active_bytes BIGINT NOT NULL, inactive_bytes BIGINT NOT NULL, largest_inactive_block_bytes BIGINT,
  events BIGINT, unmatched_free_bytes BIGINT, requested_delta_bytes BIGINT, requested_delta_peak_bytes BIGINT, requested_delta_peak_seq INTEGER,
  reserved_delta_bytes BIGINT, reserved_delta_peak_bytes BIGINT, first_action trace_action, last_action trace_action, invariants_hold BOOLEAN NOT NULL);
CREATE TABLE snapshot_action (snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, action trace_action NOT NULL, count BIGINT NOT NULL);
CREATE TABLE trace_oom (snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, seq INTEGER NOT NULL, requested_bytes BIGINT NOT NULL, device_free_bytes BIGINT);
CREATE TABLE event_extra (snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, seq INTEGER NOT NULL, key VARCHAR NOT NULL, value_json VARCHAR NOT NULL);
CREATE TABLE annotation (snapshot_id INTEGER, ordinal INTEGER, stage annotation_stage, name_id INTEGER, device INTEGER, time_us BIGINT);
CREATE TABLE event (
  snapshot_id INTEGER, device INTEGER, seq INTEGER, action trace_action, addr UBIGINT, size_bytes BIGINT, stream BIGINT, time_us BIGINT, pool INTEGER, stack_id INTEGER,
  compile_context_id INTEGER, user_metadata_id INTEGER, alloc_seq INTEGER, requested_delta_bytes BIGINT, reserved_delta_bytes BIGINT);
CREATE TABLE segment (
  snapshot_id INTEGER, segment INTEGER, device INTEGER, address UBIGINT, total_bytes BIGINT, allocated_header_bytes BIGINT, active_header_bytes BIGINT, requested_header_bytes BIGINT,
  stream BIGINT, segment_type segment_type, pool INTEGER, is_expandable UTINYINT, stack_id INTEGER);
CREATE TABLE block (
  snapshot_id INTEGER, segment INTEGER, device INTEGER, address UBIGINT, size_bytes BIGINT, requested_bytes BIGINT, state block_state, stack_id INTEGER);

CREATE TABLE incident (
  incident_id INTEGER NOT NULL, source_id INTEGER NOT NULL, kind VARCHAR NOT NULL, is_oom BOOLEAN NOT NULL, rank INTEGER, rank_origin VARCHAR, host VARCHAR, device INTEGER, pid BIGINT,
  line BIGINT NOT NULL, last_line BIGINT NOT NULL, byte_offset BIGINT NOT NULL, time_text VARCHAR, exception VARCHAR, grammar VARCHAR NOT NULL, text VARCHAR NOT NULL,
  requested_bytes BIGINT, total_bytes BIGINT, free_bytes BIGINT, process_bytes BIGINT, allocated_bytes BIGINT, reserved_bytes BIGINT, reserved_unallocated_bytes BIGINT,
  private_pool_bytes BIGINT, allowed_bytes BIGINT, other_process_bytes BIGINT);
CREATE TABLE incident_value (incident_id INTEGER NOT NULL, field VARCHAR NOT NULL, pid BIGINT, bytes BIGINT NOT NULL, printed VARCHAR NOT NULL, precision_bytes BIGINT NOT NULL);
`,
  },
  {
    version: 2,
    title: 'logs: iterations, memory lines, figures, phases, configuration, environment, attempts',
    sql: `
DROP TABLE attempt;
CREATE TABLE source_attempt (source_id INTEGER NOT NULL, attempt INTEGER NOT NULL, line BIGINT NOT NULL, origin VARCHAR NOT NULL, time_us BIGINT);

CREATE TABLE log_iteration (
  source_id INTEGER, attempt INTEGER, line INTEGER, byte_offset BIGINT, rank INTEGER, format_id INTEGER, time_us BIGINT, iteration BIGINT, target_iterations BIGINT, step_ms DOUBLE,
  consumed_samples BIGINT, global_batch_size BIGINT, tflops_per_gpu DOUBLE, learning_rate DOUBLE, loss DOUBLE, loss_scale DOUBLE, grad_norm DOUBLE, skipped_iterations BIGINT, nan_iterations BIGINT);
CREATE TABLE log_memory (
  source_id INTEGER, attempt INTEGER, line INTEGER, byte_offset BIGINT, rank INTEGER, device INTEGER, host_id INTEGER, format_id INTEGER, time_us BIGINT, iteration BIGINT, moment_id INTEGER,
  metric_id INTEGER, bytes BIGINT, value DOUBLE, unit_id INTEGER, precision_bytes DOUBLE);
CREATE TABLE log_figure (
  source_id INTEGER, attempt INTEGER, line INTEGER, byte_offset BIGINT, rank INTEGER, device INTEGER, host_id INTEGER, format_id INTEGER, time_us BIGINT, iteration BIGINT, name_id INTEGER,
  value DOUBLE, unit_id INTEGER, text_id INTEGER);
CREATE TABLE log_phase (
  source_id INTEGER NOT NULL, attempt INTEGER NOT NULL, line BIGINT NOT NULL, byte_offset BIGINT NOT NULL, rank INTEGER, phase VARCHAR NOT NULL, label VARCHAR NOT NULL, iteration BIGINT, time_us BIGINT, format VARCHAR NOT NULL);
CREATE TABLE log_config (
  source_id INTEGER NOT NULL, attempt INTEGER NOT NULL, line BIGINT NOT NULL, rank INTEGER, key VARCHAR NOT NULL, raw_key VARCHAR NOT NULL, value VARCHAR, origin VARCHAR NOT NULL, precedence INTEGER NOT NULL, format VARCHAR NOT NULL);
CREATE TABLE log_env (
  source_id INTEGER NOT NULL, attempt INTEGER NOT NULL, line BIGINT NOT NULL, rank INTEGER, host VARCHAR, key VARCHAR NOT NULL, value VARCHAR, origin VARCHAR NOT NULL, precedence INTEGER NOT NULL, format VARCHAR NOT NULL);

ALTER TABLE incident ADD COLUMN attempt INTEGER;
ALTER TABLE incident ADD COLUMN time_us BIGINT;
ALTER TABLE incident ADD COLUMN local_rank INTEGER;
ALTER TABLE incident ADD COLUMN exit_code INTEGER;
ALTER TABLE incident ADD COLUMN traceback_line BIGINT;
ALTER TABLE incident ADD COLUMN frame_file VARCHAR;
ALTER TABLE incident ADD COLUMN frame_line INTEGER;
ALTER TABLE incident ADD COLUMN frame_function VARCHAR;

CREATE VIEW attempt AS
  SELECT run_id, attempt, coalesce(first(origin ORDER BY source_id, line) FILTER (origin IS NOT NULL), 'assumed') AS origin, min(time_us) AS time_us
  FROM (
    SELECT run_id, source_id, source.attempt + coalesce(source_attempt.attempt, 1) - 1 AS attempt, source_attempt.origin, source_attempt.line, source_attempt.time_us
    FROM source LEFT JOIN source_attempt USING (source_id))
  GROUP BY run_id, attempt;
CREATE VIEW iteration AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset, coalesce(log.rank, source.rank) AS rank, format.text AS format, log.time_us,
    log.iteration, log.target_iterations, log.step_ms, log.consumed_samples, log.global_batch_size, log.tflops_per_gpu, log.learning_rate, log.loss, log.loss_scale, log.grad_norm,
    log.skipped_iterations, log.nan_iterations
  FROM log_iteration AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id;
CREATE VIEW memory_sample AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset, coalesce(log.rank, source.rank) AS rank, log.device, host.text AS host, format.text AS format,
    log.time_us, log.iteration, moment.text AS moment, metric.text AS metric, log.bytes, log.value, unit.text AS unit, log.precision_bytes
  FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id JOIN text_value AS metric ON metric.text_id = log.metric_id
    JOIN text_value AS unit ON unit.text_id = log.unit_id LEFT JOIN text_value AS moment ON moment.text_id = log.moment_id LEFT JOIN text_value AS host ON host.text_id = log.host_id;
CREATE VIEW log_value AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset, coalesce(log.rank, source.rank) AS rank, log.device, host.text AS host, format.text AS format,
    log.time_us, log.iteration, name.text AS name, log.value, unit.text AS unit, words.text AS text
  FROM log_figure AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id JOIN text_value AS name ON name.text_id = log.name_id
    LEFT JOIN text_value AS unit ON unit.text_id = log.unit_id LEFT JOIN text_value AS words ON words.text_id = log.text_id LEFT JOIN text_value AS host ON host.text_id = log.host_id;
CREATE VIEW phase AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, coalesce(log.rank, source.rank) AS rank, log.phase, log.label, log.iteration, log.time_us, log.format
  FROM log_phase AS log JOIN source USING (source_id);
CREATE VIEW config_value AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, coalesce(log.rank, source.rank) AS rank, log.key, log.raw_key, log.value, log.origin, log.precedence, log.format
  FROM log_config AS log JOIN source USING (source_id);
CREATE VIEW env_value AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, coalesce(log.rank, source.rank) AS rank, log.host, log.key, log.value, log.origin, log.precedence, log.format
  FROM log_env AS log JOIN source USING (source_id);
`,
  },
  {
    version: 3,
    title:
      'memory snapshots: the history of the allocator, allocations as rows, when and why dumped; timelines of torch.profiler',
    sql: `
CREATE TYPE stack_origin AS ENUM ('none', 'final_block', 'alloc_event', 'free_event');
CREATE TABLE derived_history (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, rules INTEGER NOT NULL, events INTEGER NOT NULL, holds BOOLEAN NOT NULL, ends_in_dump BOOLEAN NOT NULL, starts_empty BOOLEAN NOT NULL,
  violations INTEGER NOT NULL, implied_completions INTEGER NOT NULL, divergences INTEGER NOT NULL,
  peak_active_bytes BIGINT NOT NULL, peak_active_seq INTEGER, peak_reserved_bytes BIGINT NOT NULL, peak_reserved_seq INTEGER, uncertain_blocks INTEGER NOT NULL, uncertain_bytes BIGINT NOT NULL,
  bucket_entries INTEGER NOT NULL);
CREATE TABLE derived_start_segment (
  snapshot_id INTEGER, device INTEGER, address UBIGINT, total_bytes BIGINT, stream BIGINT, segment_type segment_type, pool INTEGER, is_expandable UTINYINT, is_inferred UTINYINT);
CREATE TABLE derived_start_block (
  snapshot_id INTEGER, device INTEGER, address UBIGINT, size_bytes BIGINT, least_bytes BIGINT, most_bytes BIGINT, requested_bytes BIGINT, state block_state, stack_id INTEGER, stack_origin stack_origin,
  stream BIGINT, segment_type segment_type, pool INTEGER);
CREATE TABLE derived_alloc (
  snapshot_id INTEGER, device INTEGER, seq INTEGER, excess_bytes BIGINT, uncertain_bytes BIGINT, pool INTEGER, stack_id INTEGER, stack_origin stack_origin);
CREATE TABLE derived_growth (snapshot_id INTEGER, device INTEGER, seq INTEGER, segment_type segment_type, pool INTEGER, is_inferred UTINYINT);
CREATE TABLE derived_bucket (
  snapshot_id INTEGER, device INTEGER, bucket INTEGER, first_seq INTEGER, last_seq INTEGER, first_time_us BIGINT, last_time_us BIGINT, allocated_min_bytes BIGINT, allocated_max_bytes BIGINT,
  active_min_bytes BIGINT, active_max_bytes BIGINT, reserved_min_bytes BIGINT, reserved_max_bytes BIGINT);

CREATE VIEW allocation AS
  WITH before_trace_free AS (
    SELECT snapshot_id, device, addr, min(seq) FILTER (action = 'free_requested') AS free_requested_seq, min(seq) FILTER (action = 'free_completed') AS free_completed_seq,
      min(time_us) FILTER (action = 'free_completed') AS free_us
    FROM event WHERE action IN ('free_requested', 'free_completed') AND alloc_seq IS NULL GROUP BY snapshot_id, device, addr),
  every AS (
    SELECT a.snapshot_id, a.device, a.addr AS address, 'traced' AS origin, a.seq AS alloc_seq, requested.seq AS free_requested_seq, completed.seq AS free_completed_seq,
      a.size_bytes AS requested_bytes,
      CASE WHEN history.snapshot_id IS NOT NULL THEN greatest(512, (a.size_bytes + 511) // 512 * 512) + coalesce(fact.excess_bytes, 0) END AS actual_bytes,
      CASE WHEN history.snapshot_id IS NOT NULL THEN coalesce(fact.uncertain_bytes, 0) END AS uncertain_bytes,
      a.time_us AS alloc_us, completed.time_us AS free_us, a.stream, coalesce(a.pool, fact.pool) AS pool, coalesce(a.stack_id, fact.stack_id) AS stack_id,
      CASE WHEN a.stack_id IS NOT NULL THEN 'alloc_event' ELSE coalesce(fact.stack_origin::VARCHAR, 'none') END AS stack_origin, a.compile_context_id, a.user_metadata_id
    FROM event AS a
    LEFT JOIN event AS requested ON requested.snapshot_id = a.snapshot_id AND requested.device = a.device AND requested.alloc_seq = a.seq AND requested.action = 'free_requested'
    LEFT JOIN event AS completed ON completed.snapshot_id = a.snapshot_id AND completed.device = a.device AND completed.alloc_seq = a.seq AND completed.action = 'free_completed'
    LEFT JOIN derived_history AS history ON history.snapshot_id = a.snapshot_id AND history.device = a.device
    LEFT JOIN derived_alloc AS fact ON fact.snapshot_id = a.snapshot_id AND fact.device = a.device AND fact.seq = a.seq
    WHERE a.action = 'alloc'
    UNION ALL
    SELECT block.snapshot_id, block.device, block.address, 'before_trace', NULL, freed.free_requested_seq, freed.free_completed_seq, block.requested_bytes, block.size_bytes,
      block.most_bytes - block.least_bytes, NULL, freed.free_us, block.stream, block.pool, block.stack_id, block.stack_origin::VARCHAR, NULL, NULL
    FROM derived_start_block AS block
    LEFT JOIN before_trace_free AS freed ON freed.snapshot_id = block.snapshot_id AND freed.device = block.device AND freed.addr = block.address)
  SELECT snapshot_id, device, address,
    'b' || lower(to_hex(address)) || '_' || (row_number() OVER (PARTITION BY snapshot_id, address ORDER BY alloc_seq NULLS FIRST) - 1) AS label,
    origin, alloc_seq, free_requested_seq, free_completed_seq, requested_bytes, actual_bytes, uncertain_bytes, alloc_us, free_us, free_us - alloc_us AS lifetime_us,
    free_completed_seq - alloc_seq AS lifetime_entries, stream, pool, stack_id, stack_origin, compile_context_id, user_metadata_id
  FROM every;

CREATE MACRO live_at(snapshot, dev, entry) AS TABLE
  SELECT * FROM allocation
  WHERE snapshot_id = snapshot AND device = dev AND coalesce(alloc_seq, -1) <= entry AND (free_completed_seq IS NULL OR free_completed_seq > entry);

CREATE TYPE profiler_action AS ENUM ('preexisting', 'create', 'increment_version', 'destroy');
CREATE TYPE profiler_category AS ENUM ('parameter', 'optimizer_state', 'input', 'temporary', 'activation', 'gradient', 'autograd_detail', 'unknown');
CREATE TABLE profiler_memory (
  source_id INTEGER, ordinal INTEGER, time_ns BIGINT, action profiler_action, delta_bytes BIGINT, category profiler_category);
ALTER TABLE snapshot ADD COLUMN dump_trigger VARCHAR;
ALTER TABLE snapshot ADD COLUMN dump_trigger_origin VARCHAR;
ALTER TABLE snapshot ADD COLUMN step BIGINT;
ALTER TABLE snapshot ADD COLUMN step_origin VARCHAR;
ALTER TABLE snapshot ALTER COLUMN protocol DROP NOT NULL;
`,
  },
  {
    version: 4,
    title: 'attribution: the component of every allocation',
    sql: `
CREATE TABLE derived_attribution (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, rules INTEGER NOT NULL, labels INTEGER NOT NULL, blocks BIGINT NOT NULL);
CREATE TABLE derived_label (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, label INTEGER NOT NULL, component VARCHAR NOT NULL, sub_component VARCHAR NOT NULL, phase VARCHAR NOT NULL, known_by VARCHAR NOT NULL,
  confidence VARCHAR NOT NULL, rules VARCHAR NOT NULL);
CREATE TABLE derived_block_label (snapshot_id INTEGER, device INTEGER, alloc_seq INTEGER, address UBIGINT, label INTEGER);

CREATE VIEW allocation_component AS
  SELECT allocation.*, component, sub_component, phase, known_by, confidence, rules
  FROM allocation
  LEFT JOIN derived_block_label AS block
    ON block.snapshot_id = allocation.snapshot_id AND block.device = allocation.device AND block.alloc_seq IS NOT DISTINCT FROM allocation.alloc_seq
    AND (allocation.alloc_seq IS NOT NULL OR block.address = allocation.address)
  LEFT JOIN derived_label AS label ON label.snapshot_id = allocation.snapshot_id AND label.device = allocation.device AND label.label = block.label;
CREATE MACRO components_at(snapshot, dev, entry) AS TABLE
  SELECT component, sub_component, phase, known_by, sum(actual_bytes) AS bytes, count(*) AS blocks
  FROM allocation_component
  WHERE snapshot_id = snapshot AND device = dev AND coalesce(alloc_seq, -1) <= entry AND (free_completed_seq IS NULL OR free_completed_seq > entry)
  GROUP BY ALL;
`,
  },
  {
    version: 5,
    title: 'Nsight Systems exports',
    sql: `
CREATE TYPE nsys_memory_kind AS ENUM ('pageable', 'pinned', 'device', 'array', 'managed', 'device_static', 'managed_static', 'unknown');
CREATE TYPE nsys_memory_operation AS ENUM ('allocation', 'deallocation', 'other');
CREATE TYPE nsys_pool_operation AS ENUM ('invalid', 'created', 'destroyed', 'trimmed', 'other');
CREATE TYPE nsys_pool_type AS ENUM ('invalid', 'local', 'imported', 'other');
CREATE TYPE nsys_copy_operation AS ENUM ('memcpy', 'memset');
CREATE TYPE nsys_copy_kind AS ENUM ('unknown', 'host_to_device', 'device_to_host', 'host_to_array', 'array_to_host', 'array_to_array', 'array_to_device', 'device_to_array', 'device_to_device', 'host_to_host', 'peer_to_peer', 'managed_host_to_device', 'managed_device_to_host', 'managed_device_to_device', 'other');
CREATE TYPE nsys_nvtx_type AS ENUM ('category', 'mark', 'push_pop', 'start_end', 'thread_name', 'domain', 'domain_end', 'other');
CREATE TYPE nsys_traced_library AS ENUM ('cublas', 'cudnn', 'cusolver', 'cusparse', 'cufft', 'mpi', 'nvshmem', 'ucx', 'openacc', 'other');

CREATE TABLE nsys_report (
  source_id INTEGER NOT NULL, form VARCHAR NOT NULL, product_version VARCHAR, schema_version VARCHAR, clock_offset_ns BIGINT, clock_origin VARCHAR, duration_ns BIGINT, host VARCHAR,
  memory_events_collected BOOLEAN, graph_trace VARCHAR, is_partial BOOLEAN NOT NULL, has_all_tables BOOLEAN NOT NULL);
CREATE TABLE nsys_table (source_id INTEGER NOT NULL, name VARCHAR NOT NULL, row_count BIGINT NOT NULL, is_read BOOLEAN NOT NULL);
CREATE TABLE nsys_gpu (source_id INTEGER NOT NULL, gpu INTEGER NOT NULL, name VARCHAR, total_bytes BIGINT, bus_location VARCHAR, uuid VARCHAR);
CREATE TABLE nsys_device (source_id INTEGER NOT NULL, pid INTEGER NOT NULL, device INTEGER NOT NULL, gpu INTEGER);
CREATE TABLE nsys_process (source_id INTEGER NOT NULL, pid INTEGER NOT NULL, name VARCHAR, rank INTEGER, rank_origin VARCHAR);
CREATE TABLE nsys_thread (source_id INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER NOT NULL, name VARCHAR NOT NULL);
CREATE TABLE nsys_diagnostic (source_id INTEGER NOT NULL, time_ns BIGINT, severity VARCHAR NOT NULL, text VARCHAR NOT NULL);
CREATE TABLE nsys_option (source_id INTEGER NOT NULL, key VARCHAR NOT NULL, value VARCHAR NOT NULL);
CREATE TABLE nsys_text (source_id INTEGER NOT NULL, text_id BIGINT NOT NULL, text VARCHAR NOT NULL);

CREATE TABLE nsys_memory (
  source_id INTEGER, seq INTEGER, start_ns BIGINT, pid INTEGER, device INTEGER, context INTEGER, stream INTEGER, correlation BIGINT, operation nsys_memory_operation, kind nsys_memory_kind,
  address UBIGINT, bytes BIGINT, pc UBIGINT, name_id BIGINT, pool_address UBIGINT, pool_bytes BIGINT, pool_used_bytes BIGINT);
CREATE TABLE nsys_pool (
  source_id INTEGER, seq INTEGER, start_ns BIGINT, pid INTEGER, device INTEGER, correlation BIGINT, operation nsys_pool_operation, pool_type nsys_pool_type, address UBIGINT, threshold_bytes BIGINT,
  pool_bytes BIGINT, pool_used_bytes BIGINT);
CREATE TABLE nsys_api (
  source_id INTEGER, start_ns BIGINT, end_ns BIGINT, pid INTEGER, tid INTEGER, correlation BIGINT, name_id BIGINT, return_value INTEGER, event_class INTEGER, callchain BIGINT);
CREATE TABLE nsys_kernel (
  source_id INTEGER, start_ns BIGINT, end_ns BIGINT, pid INTEGER, device INTEGER, context INTEGER, stream INTEGER, correlation BIGINT, name_id BIGINT, demangled_id BIGINT, blocks BIGINT, threads BIGINT,
  registers INTEGER, local_memory_bytes BIGINT, graph_node BIGINT);
CREATE TABLE nsys_copy (
  source_id INTEGER, start_ns BIGINT, end_ns BIGINT, pid INTEGER, device INTEGER, context INTEGER, stream INTEGER, correlation BIGINT, operation nsys_copy_operation, copy_kind nsys_copy_kind, bytes BIGINT,
  source_kind nsys_memory_kind, target_kind nsys_memory_kind, source_device INTEGER, target_device INTEGER, migration_cause INTEGER, graph_node BIGINT);
CREATE TABLE nsys_sync (
  source_id INTEGER, start_ns BIGINT, end_ns BIGINT, pid INTEGER, device INTEGER, context INTEGER, stream INTEGER, correlation BIGINT, sync_type INTEGER);
CREATE TABLE nsys_graph (
  source_id INTEGER, start_ns BIGINT, end_ns BIGINT, pid INTEGER, device INTEGER, context INTEGER, stream INTEGER, correlation BIGINT, graph BIGINT, graph_exec BIGINT);
CREATE TABLE nsys_nvtx (
  source_id INTEGER, seq INTEGER, start_ns BIGINT, end_ns BIGINT, type nsys_nvtx_type, pid INTEGER, tid INTEGER, end_tid INTEGER, domain BIGINT, range_id BIGINT, category INTEGER, text_id BIGINT);
CREATE TABLE nsys_library (
  source_id INTEGER, start_ns BIGINT, end_ns BIGINT, library nsys_traced_library, pid INTEGER, tid INTEGER, name_id BIGINT);
CREATE TABLE nsys_frame (source_id INTEGER, callchain BIGINT, depth INTEGER, symbol_id BIGINT, module_id BIGINT);

CREATE VIEW nsys_allocation AS
  WITH ordered AS (
    SELECT *, lag(operation) OVER block AS before_operation, lead(operation) OVER block AS next_operation, lead(start_ns) OVER block AS next_ns,
      lead(correlation) OVER block AS next_correlation
    FROM nsys_memory WHERE operation <> 'other'
    WINDOW block AS (PARTITION BY source_id, pid, context, address ORDER BY start_ns, correlation, seq))
  SELECT source_id, seq, pid, device, context, stream, kind, address, bytes, start_ns AS alloc_ns, next_ns AS free_ns,
    CASE next_operation WHEN 'deallocation' THEN 'freed' WHEN 'allocation' THEN 'free_lost' ELSE 'open' END AS fate,
    'traced' AS origin, correlation, CASE WHEN next_operation = 'deallocation' THEN next_correlation END AS free_correlation, pc, name_id, pool_address
  FROM ordered WHERE operation = 'allocation'
  UNION ALL
  SELECT source_id, seq, pid, device, context, stream, kind, address, bytes, NULL, start_ns, 'freed',
    CASE WHEN before_operation IS NULL THEN 'before_capture' ELSE 'allocation_lost' END, NULL, correlation, pc, name_id, pool_address
  FROM ordered WHERE operation = 'deallocation' AND before_operation IS DISTINCT FROM 'allocation';
CREATE VIEW nsys_range AS
  SELECT nvtx.source_id, nvtx.seq, nvtx.start_ns, nvtx.end_ns, nvtx.type, nvtx.pid, nvtx.tid, nvtx.end_tid, nvtx.domain, domain.text AS domain_name, words.text
  FROM nsys_nvtx AS nvtx
  LEFT JOIN nsys_text AS words ON words.source_id = nvtx.source_id AND words.text_id = nvtx.text_id
  LEFT JOIN (
    SELECT source_id, pid, domain, first(text ORDER BY seq) AS text
    FROM nsys_nvtx JOIN nsys_text USING (source_id, text_id) WHERE type = 'domain' GROUP BY source_id, pid, domain) AS domain
    ON domain.source_id = nvtx.source_id AND domain.pid = nvtx.pid AND domain.domain = nvtx.domain
  WHERE nvtx.type IN ('push_pop', 'start_end');
CREATE VIEW nsys_call AS
  SELECT api.source_id, api.start_ns, api.end_ns, api.pid, api.tid, api.correlation, regexp_replace(words.text, '(_ptsz|_ptds)?_v[0-9]+$', '') AS api, api.return_value, api.event_class, api.callchain
  FROM nsys_api AS api LEFT JOIN nsys_text AS words ON words.source_id = api.source_id AND words.text_id = api.name_id;

CREATE SCHEMA nsys_raw;
`,
  },
  {
    version: 6,
    title: 'golden values',
    sql: `
CREATE TABLE golden_run (
  name VARCHAR NOT NULL, position INTEGER NOT NULL, added_at TIMESTAMP NOT NULL, form VARCHAR NOT NULL, source VARCHAR NOT NULL, document VARCHAR NOT NULL);
`,
  },
  {
    version: 7,
    title: 'metrics with a log: gauges polled by another program, and the clock of the times of a file',
    sql: `
ALTER TABLE source ADD COLUMN clock VARCHAR;
CREATE TABLE log_gauge (
  source_id INTEGER, attempt INTEGER, line INTEGER, byte_offset BIGINT, rank INTEGER, device INTEGER, host_id INTEGER, format_id INTEGER, time_us BIGINT, gpu_id INTEGER, pid BIGINT, process_id INTEGER,
  metric_id INTEGER, bytes BIGINT, value DOUBLE, unit_id INTEGER, precision_bytes DOUBLE);

CREATE VIEW gauge AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset, coalesce(log.rank, source.rank) AS rank, log.device, host.text AS host, gpu.text AS gpu,
    log.pid, process.text AS process, format.text AS format, log.time_us, coalesce(source.clock, 'printed') AS clock, metric.text AS metric, log.bytes, log.value, unit.text AS unit, log.precision_bytes
  FROM log_gauge AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id JOIN text_value AS metric ON metric.text_id = log.metric_id
    JOIN text_value AS unit ON unit.text_id = log.unit_id LEFT JOIN text_value AS host ON host.text_id = log.host_id LEFT JOIN text_value AS gpu ON gpu.text_id = log.gpu_id
    LEFT JOIN text_value AS process ON process.text_id = log.process_id;
CREATE OR REPLACE VIEW iteration AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset, coalesce(log.rank, source.rank) AS rank, format.text AS format, log.time_us,
    log.iteration, log.target_iterations, log.step_ms, log.consumed_samples, log.global_batch_size, log.tflops_per_gpu, log.learning_rate, log.loss, log.loss_scale, log.grad_norm,
    log.skipped_iterations, log.nan_iterations, coalesce(source.clock, 'printed') AS clock, source.format AS origin
  FROM log_iteration AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id;
CREATE OR REPLACE VIEW memory_sample AS
  SELECT source.run_id, log.source_id, source.attempt + log.attempt - 1 AS attempt, log.line, log.byte_offset, coalesce(log.rank, source.rank) AS rank, log.device, host.text AS host, format.text AS format,
    log.time_us, log.iteration, moment.text AS moment, metric.text AS metric, log.bytes, log.value, unit.text AS unit, log.precision_bytes,
    CASE WHEN starts_with(metric.text, 'max_') THEN 'peak' ELSE 'moment' END AS reading, coalesce(source.clock, 'printed') AS clock, source.format AS origin, NULL::BIGINT AS pid
  FROM log_memory AS log JOIN source USING (source_id) JOIN text_value AS format ON format.text_id = log.format_id JOIN text_value AS metric ON metric.text_id = log.metric_id
    JOIN text_value AS unit ON unit.text_id = log.unit_id LEFT JOIN text_value AS moment ON moment.text_id = log.moment_id LEFT JOIN text_value AS host ON host.text_id = log.host_id
  UNION ALL
  SELECT gauge.run_id, gauge.source_id, gauge.attempt, gauge.line, gauge.byte_offset, gauge.rank, gauge.device, gauge.host, gauge.format, gauge.time_us, NULL, NULL, gauge.metric, gauge.bytes, gauge.value,
    gauge.unit, gauge.precision_bytes, 'sampled', gauge.clock, source.format, gauge.pid
  FROM gauge JOIN source USING (source_id);
`,
  },
  {
    version: 8,
    title: 'lifetimes of blocks and segments, steps and labels, derived while ingesting',
    sql: `
DROP MACRO TABLE components_at;
DROP MACRO TABLE live_at;
DROP VIEW allocation_component;
DROP VIEW allocation;
DROP TABLE derived_history;
DROP TABLE derived_start_segment;
DROP TABLE derived_start_block;
DROP TABLE derived_alloc;
DROP TABLE derived_growth;
DROP TABLE derived_attribution;
DROP TABLE derived_label;
DROP TABLE derived_block_label;
DELETE FROM derived_bucket;
CREATE TABLE derived_history (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, rules INTEGER NOT NULL, events INTEGER NOT NULL, blocks INTEGER NOT NULL, holds BOOLEAN NOT NULL, ends_in_dump BOOLEAN NOT NULL,
  starts_empty BOOLEAN NOT NULL, violations INTEGER NOT NULL, implied_completions INTEGER NOT NULL, divergences INTEGER NOT NULL, requests_recorded BOOLEAN NOT NULL, completions_recorded BOOLEAN NOT NULL, pooled BOOLEAN NOT NULL,
  peak_active_bytes BIGINT NOT NULL, peak_active_seq INTEGER, peak_reserved_bytes BIGINT NOT NULL, peak_reserved_seq INTEGER, uncertain_blocks INTEGER NOT NULL, uncertain_bytes BIGINT NOT NULL,
  bucket_entries INTEGER NOT NULL, steps_origin VARCHAR, steps_annotations VARCHAR, steps_annotations_device INTEGER, steps_without_entries INTEGER NOT NULL);
CREATE TABLE trace_step (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, ordinal INTEGER NOT NULL, step BIGINT NOT NULL, start_us BIGINT, end_us BIGINT, first_seq INTEGER, last_seq INTEGER, occurrence INTEGER, partial VARCHAR);
CREATE TABLE block_life (
  snapshot_id INTEGER, device INTEGER, block INTEGER, address UBIGINT, from_seq INTEGER, to_seq INTEGER, pending_seq INTEGER, requested_bytes BIGINT, actual_bytes BIGINT, least_bytes BIGINT,
  most_bytes BIGINT, stream BIGINT, pool INTEGER, stack_id INTEGER, stack_origin stack_origin, alloc_us BIGINT, free_us BIGINT, compile_context_id INTEGER, user_metadata_id INTEGER, label INTEGER);
CREATE TABLE segment_life (
  snapshot_id INTEGER, device INTEGER, address UBIGINT, total_bytes BIGINT, from_seq INTEGER, to_seq INTEGER, stream BIGINT, segment_type segment_type, pool INTEGER, is_expandable UTINYINT,
  is_inferred UTINYINT);
ALTER TABLE stack ADD COLUMN site VARCHAR;
CREATE TABLE labelled_device (snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, rules INTEGER NOT NULL, figures VARCHAR NOT NULL);
CREATE TABLE label (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, label INTEGER NOT NULL, component VARCHAR NOT NULL, sub_component VARCHAR NOT NULL, phase VARCHAR NOT NULL, known_by VARCHAR NOT NULL,
  confidence VARCHAR NOT NULL, rules VARCHAR NOT NULL);
CREATE TABLE block_label_staging (snapshot_id INTEGER, device INTEGER, block INTEGER, label INTEGER);
CREATE TABLE mbforensics_library (hash VARCHAR NOT NULL, kind VARCHAR NOT NULL, name VARCHAR NOT NULL, title VARCHAR NOT NULL);
`,
  },
  {
    version: 9,
    title: 'lifetimes replace the columns of event that were derived from other entries',
    sql: `
ALTER TABLE event DROP COLUMN alloc_seq;
ALTER TABLE event DROP COLUMN requested_delta_bytes;
ALTER TABLE event DROP COLUMN reserved_delta_bytes;
`,
  },
  {
    version: 10,
    title: 'the allocator at the last OOM of a device, derived while ingesting',
    sql: `
ALTER TABLE derived_history ADD COLUMN max_split_bytes BIGINT;
ALTER TABLE derived_history ADD COLUMN max_non_split_rounding_bytes BIGINT;
ALTER TABLE derived_history ADD COLUMN large_segment_bytes BIGINT;
ALTER TABLE derived_history ADD COLUMN roundup_divisions VARCHAR;
CREATE TABLE oom_state (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, seq INTEGER NOT NULL, stream BIGINT, stack_id INTEGER, segment_request_bytes BIGINT NOT NULL, freed_by_wait_bytes BIGINT NOT NULL, reserved_bytes BIGINT NOT NULL,
  private_reserved_bytes BIGINT NOT NULL, allocated_bytes BIGINT NOT NULL, pending_bytes BIGINT NOT NULL, private_live_bytes BIGINT NOT NULL, default_pending_bytes BIGINT NOT NULL,
  requested_bytes BIGINT NOT NULL, rounding_bytes BIGINT NOT NULL, request_not_recorded_bytes BIGINT NOT NULL, uncertain_blocks BIGINT NOT NULL, uncertain_bytes BIGINT NOT NULL);
CREATE TABLE oom_rounding (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, seq INTEGER NOT NULL, oversize_slack_bytes BIGINT NOT NULL, power2_rounding_bytes BIGINT);
CREATE TABLE oom_hole (
  snapshot_id INTEGER NOT NULL, device INTEGER NOT NULL, seq INTEGER NOT NULL, address UBIGINT NOT NULL, bytes BIGINT NOT NULL, reason VARCHAR NOT NULL, page_pinned_bytes BIGINT NOT NULL,
  segment_address UBIGINT NOT NULL, segment_bytes BIGINT NOT NULL, segment_type segment_type NOT NULL, stream BIGINT, pool INTEGER, is_expandable UTINYINT NOT NULL, live_blocks BIGINT NOT NULL,
  live_bytes BIGINT NOT NULL);
`,
  },
  {
    version: 11,
    title: 'the facts by which each failure is judged',
    sql: `
CREATE TABLE oom_fact (
  run_id INTEGER NOT NULL, failure INTEGER NOT NULL, rank INTEGER, device INTEGER, snapshot_id INTEGER, seq INTEGER, incident_id INTEGER, kind VARCHAR, text VARCHAR,
  request_bytes BIGINT, least_request_bytes BIGINT NOT NULL, segment_request_bytes BIGINT,
  reserved_bytes BIGINT, reserved_precision_bytes BIGINT, allocated_bytes BIGINT, allocated_precision_bytes BIGINT, pending_bytes BIGINT, freed_by_wait_bytes BIGINT,
  device_free_bytes BIGINT, device_free_precision_bytes BIGINT, total_bytes BIGINT, total_precision_bytes BIGINT, process_bytes BIGINT, process_precision_bytes BIGINT,
  other_processes_bytes BIGINT NOT NULL, other_processes_precision_bytes BIGINT NOT NULL, allowed_bytes BIGINT, allowed_precision_bytes BIGINT,
  private_free_bytes BIGINT, private_free_precision_bytes BIGINT, oversize_slack_bytes BIGINT, rounding_waste_bytes BIGINT,
  has_free_space BOOLEAN NOT NULL, usable_bytes BIGINT, largest_usable_bytes BIGINT, other_stream_bytes BIGINT, other_class_bytes BIGINT,
  is_expandable BOOLEAN, max_split_bytes BIGINT, walk_is_exact BOOLEAN, uncertain_bytes BIGINT,
  has_trace BOOLEAN NOT NULL, has_steps BOOLEAN NOT NULL, trace_is_whole BOOLEAN, has_earlier_states BOOLEAN, repeated_bytes BIGINT, trace_activity VARCHAR, activity_bytes BIGINT, copied_bytes BIGINT,
  growth_samples INTEGER, growth_first_bytes BIGINT, growth_last_bytes BIGINT, growth_late_bytes BIGINT, growth_r2 DOUBLE,
  reserved_growth_samples INTEGER, reserved_growth_bytes BIGINT, reserved_growth_last_bytes BIGINT, reserved_growth_r2 DOUBLE,
  run_activity VARCHAR, completed_steps BIGINT, highest_bytes BIGINT, stage INTEGER, stages INTEGER, own_stage_bytes BIGINT, next_stage_bytes BIGINT, only_this_stage BOOLEAN NOT NULL,
  several_replicas BOOLEAN NOT NULL, early_second_iteration BIGINT, early_last_iteration BIGINT, early_bytes_per_iteration DOUBLE, early_peak_bytes BIGINT, nccl_signs INTEGER NOT NULL,
  failed_alone BOOLEAN, other_ranks INTEGER, others_reserved_bytes BIGINT, own_reserved_bytes BIGINT, has_environment BOOLEAN NOT NULL,
  driver_outside_bytes BIGINT, driver_nccl_bytes BIGINT, monitored_others_bytes BIGINT);
CREATE TABLE oom_step (run_id INTEGER NOT NULL, failure INTEGER NOT NULL, step INTEGER NOT NULL, is_settled BOOLEAN NOT NULL, peak_bytes BIGINT NOT NULL, end_bytes BIGINT NOT NULL);
CREATE TABLE oom_keeping_site (
  run_id INTEGER NOT NULL, failure INTEGER NOT NULL, site VARCHAR NOT NULL, bytes BIGINT NOT NULL, blocks BIGINT NOT NULL, steps BIGINT NOT NULL, bytes_per_step BIGINT NOT NULL);
CREATE TABLE oom_test (
  run_id INTEGER NOT NULL, failure INTEGER NOT NULL, cause VARCHAR NOT NULL, place INTEGER NOT NULL, outcome VARCHAR NOT NULL, reason VARCHAR NOT NULL, detail VARCHAR, confidence VARCHAR,
  capture VARCHAR, doubts VARCHAR[] NOT NULL, numbers MAP(VARCHAR, DOUBLE) NOT NULL);
CREATE TABLE judged_run (run_id INTEGER NOT NULL, rules INTEGER NOT NULL);
CREATE TABLE oom_replay (
  run_id INTEGER NOT NULL, failure INTEGER NOT NULL, status VARCHAR NOT NULL, repeats_oom BOOLEAN NOT NULL, is_on BOOLEAN NOT NULL, is_served BOOLEAN NOT NULL, is_robust BOOLEAN NOT NULL);
`,
  },
  {
    version: 12,
    title: 'sides of a comparison that are not in the store, and which call sites of two sides are the same',
    sql: `
CREATE TABLE side_stack (
  side VARCHAR NOT NULL, stack_id INTEGER, kind VARCHAR NOT NULL, site VARCHAR NOT NULL, component VARCHAR NOT NULL, size_bytes BIGINT NOT NULL, bytes BIGINT NOT NULL, blocks BIGINT NOT NULL);
CREATE TABLE side_pool (
  side VARCHAR NOT NULL, pool VARCHAR NOT NULL, segment_type VARCHAR NOT NULL, is_side_stream BOOLEAN NOT NULL, reserved_bytes BIGINT NOT NULL, active_bytes BIGINT NOT NULL, segments BIGINT NOT NULL,
  first_address UBIGINT NOT NULL);
CREATE TABLE side_setting (side VARCHAR NOT NULL, key VARCHAR NOT NULL, value VARCHAR NOT NULL, position INTEGER NOT NULL);
CREATE TABLE site_match (
  left_side VARCHAR NOT NULL, right_side VARCHAR NOT NULL, is_right BOOLEAN NOT NULL, stack_id INTEGER, kind VARCHAR NOT NULL, match_no INTEGER NOT NULL, site VARCHAR NOT NULL,
  match VARCHAR NOT NULL, through VARCHAR);
`,
  },
  {
    version: 13,
    title: 'what code finds out about runs, ranks and traces before their failures are judged; where figures are from',
    sql: `
DROP TABLE judged_run;
CREATE TABLE judged_run (
  run_id INTEGER NOT NULL, rules INTEGER NOT NULL, kind VARCHAR, text VARCHAR, rank INTEGER, device INTEGER, failed_attempt INTEGER, attempt INTEGER, completed_steps BIGINT,
  last_iteration BIGINT, world_size BIGINT, stages BIGINT, stage_stride BIGINT, replicas BIGINT, replica_stride BIGINT, has_environment BOOLEAN);
CREATE TABLE judged_rank (
  run_id INTEGER NOT NULL, rank INTEGER, own_rank INTEGER, is_expandable BOOLEAN, max_split_bytes BIGINT, activity VARCHAR, nccl_signs INTEGER NOT NULL, driver_outside_bytes BIGINT,
  driver_nccl_bytes BIGINT, monitored_total_bytes BIGINT, monitored_others_bytes BIGINT);
CREATE TABLE judged_lines (
  run_id INTEGER NOT NULL, rank INTEGER, growth_samples INTEGER, growth_first_bytes BIGINT, growth_first_iteration BIGINT, growth_last_bytes BIGINT, growth_last_iteration BIGINT,
  growth_late_bytes BIGINT, growth_bytes_per_iteration DOUBLE, growth_r2 DOUBLE, growth_path VARCHAR, reserved_growth_samples INTEGER, reserved_growth_bytes BIGINT,
  reserved_growth_last_bytes BIGINT, reserved_growth_r2 DOUBLE, highest_bytes BIGINT, stage INTEGER, own_stage_bytes BIGINT, own_stage_rank INTEGER, next_stage INTEGER,
  next_stage_bytes BIGINT, next_stage_rank INTEGER, only_this_stage BOOLEAN NOT NULL, several_replicas BOOLEAN NOT NULL, lines_path VARCHAR, lines_line BIGINT,
  early_first_iteration BIGINT, early_second_iteration BIGINT, early_last_iteration BIGINT, early_bytes_per_iteration DOUBLE, early_peak_bytes BIGINT, early_path VARCHAR,
  early_line BIGINT, other_ranks INTEGER, others_reserved_bytes BIGINT, others_reserved_rank INTEGER, others_reserved_path VARCHAR, others_reserved_line BIGINT,
  own_reserved_bytes BIGINT);
CREATE TABLE judged_trace (
  run_id INTEGER NOT NULL, failure INTEGER NOT NULL, steps_by VARCHAR, is_whole BOOLEAN NOT NULL, has_earlier_states BOOLEAN NOT NULL, repeated_bytes BIGINT NOT NULL, activity VARCHAR,
  activity_bytes BIGINT NOT NULL, copied_bytes BIGINT NOT NULL);
ALTER TABLE oom_fact ADD COLUMN total_from VARCHAR;
ALTER TABLE oom_fact ADD COLUMN steps_by VARCHAR;
ALTER TABLE oom_fact ADD COLUMN growth_first_iteration BIGINT;
ALTER TABLE oom_fact ADD COLUMN growth_last_iteration BIGINT;
ALTER TABLE oom_fact ADD COLUMN growth_bytes_per_iteration DOUBLE;
ALTER TABLE oom_fact ADD COLUMN growth_path VARCHAR;
ALTER TABLE oom_fact ADD COLUMN own_stage_rank INTEGER;
ALTER TABLE oom_fact ADD COLUMN next_stage INTEGER;
ALTER TABLE oom_fact ADD COLUMN next_stage_rank INTEGER;
ALTER TABLE oom_fact ADD COLUMN lines_path VARCHAR;
ALTER TABLE oom_fact ADD COLUMN lines_line BIGINT;
ALTER TABLE oom_fact ADD COLUMN early_first_iteration BIGINT;
ALTER TABLE oom_fact ADD COLUMN early_path VARCHAR;
ALTER TABLE oom_fact ADD COLUMN early_line BIGINT;
ALTER TABLE oom_fact ADD COLUMN others_reserved_rank INTEGER;
ALTER TABLE oom_fact ADD COLUMN others_reserved_path VARCHAR;
ALTER TABLE oom_fact ADD COLUMN others_reserved_line BIGINT;
`,
  },
  {
    version: 14,
    title: 'what a step like the last whole one would peak at; pinned memory of the host',
    sql: `
ALTER TABLE judged_trace ADD COLUMN projected_bytes BIGINT;
ALTER TABLE judged_trace ADD COLUMN alike_share DOUBLE;
ALTER TABLE oom_fact ADD COLUMN projected_bytes BIGINT;
ALTER TABLE oom_fact ADD COLUMN alike_share DOUBLE;
CREATE TABLE host_event (
  snapshot_id INTEGER, seq INTEGER, action trace_action, addr UBIGINT, size_bytes BIGINT, time_us BIGINT, pool INTEGER, stack_id INTEGER);
CREATE TABLE host_segment (
  snapshot_id INTEGER, segment INTEGER, address UBIGINT, total_bytes BIGINT, allocated_bytes BIGINT, active_bytes BIGINT, pool INTEGER, stack_id INTEGER);
`,
  },
  {
    version: 15,
    title: 'the requested size that a free block still carries of an earlier user',
    sql: `
ALTER TABLE block ADD COLUMN left_over_bytes BIGINT;
`,
  },
  {
    version: 16,
    title: 'figures that a message contradicts, contexts of sibling ranks, and the precision of what is cached',
    sql: `
ALTER TABLE oom_fact ADD COLUMN cached_precision_bytes BIGINT;
ALTER TABLE oom_fact ADD COLUMN sibling_processes INTEGER;
ALTER TABLE oom_fact ADD COLUMN sibling_bytes BIGINT;
ALTER TABLE oom_fact ADD COLUMN impossible VARCHAR[];
ALTER TABLE oom_fact ADD COLUMN driver_grown_bytes BIGINT;
ALTER TABLE judged_rank ADD COLUMN driver_grown_bytes BIGINT;
`,
  },
  {
    version: 17,
    title: 'the frames in which a failure was raised, innermost first',
    sql: `
ALTER TABLE incident ADD COLUMN frames VARCHAR;
`,
  },
  {
    version: 18,
    title: 'what diagnose concludes: verdicts, evidence, answers of the allocator model',
    sql: `
DROP TABLE oom_test;
DROP TABLE oom_replay;
CREATE TABLE oom_replay (
  run_id INTEGER NOT NULL, failure INTEGER NOT NULL, status VARCHAR NOT NULL, reason VARCHAR NOT NULL, address_matches BIGINT NOT NULL, address_total BIGINT NOT NULL, repeats_oom BOOLEAN NOT NULL,
  layout_short_bytes BIGINT, least_capacity_bytes BIGINT, is_on BOOLEAN NOT NULL, is_served BOOLEAN NOT NULL, is_robust BOOLEAN NOT NULL);
CREATE TABLE oom_what_if (
  run_id INTEGER NOT NULL, failure INTEGER NOT NULL, position INTEGER NOT NULL, setting VARCHAR NOT NULL, capacity_bytes BIGINT, outcome VARCHAR NOT NULL,
  peak_reserved_bytes BIGINT NOT NULL, peak_reserved_least_bytes BIGINT NOT NULL, peak_reserved_most_bytes BIGINT NOT NULL, peak_active_bytes BIGINT NOT NULL, headroom_bytes BIGINT,
  driver_calls BIGINT NOT NULL, bound VARCHAR NOT NULL, unused_at_peak_bytes BIGINT NOT NULL, retries BIGINT NOT NULL, short_bytes BIGINT, oom_seq INTEGER, robust BOOLEAN NOT NULL, note VARCHAR);
CREATE TABLE verdict (
  run VARCHAR NOT NULL, run_id INTEGER NOT NULL, number INTEGER NOT NULL, failure INTEGER, rank INTEGER, device INTEGER, snapshot_id INTEGER, seq INTEGER, incident_id INTEGER, kind VARCHAR,
  cause VARCHAR NOT NULL, detail VARCHAR, confidence VARCHAR NOT NULL, basis VARCHAR, reason VARCHAR, capture VARCHAR, untested_rivals VARCHAR[] NOT NULL, doubts VARCHAR[] NOT NULL,
  is_proven BOOLEAN NOT NULL, contradicted_by INTEGER, replay_status VARCHAR);
CREATE TABLE evidence (
  run VARCHAR NOT NULL, run_id INTEGER NOT NULL, verdict INTEGER NOT NULL, failure INTEGER, rank INTEGER, number INTEGER NOT NULL, code VARCHAR NOT NULL, about VARCHAR,
  numbers MAP(VARCHAR, DOUBLE) NOT NULL, names MAP(VARCHAR, VARCHAR) NOT NULL, items VARCHAR, path VARCHAR, line BIGINT, entry BIGINT, given_by VARCHAR, shows VARCHAR,
  query VARCHAR, parameters VARCHAR);
CREATE TABLE diagnosis (run_id INTEGER NOT NULL, part VARCHAR NOT NULL, number INTEGER NOT NULL, document VARCHAR NOT NULL);
`,
  },
];

export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version;
