/**
 * The schema, as a list of steps. A store at version n runs the steps above n, each in its own transaction. Steps are frozen once
 * released: later wishes are later steps. `docs/store-format.md` tells each step in prose.
 *
 * Bytes are integers in columns ending `_bytes`, times `_us`/`_ns`; unknown is NULL. The large tables (`event`, `block`, `segment`)
 * carry no index: their rows arrive clustered by (snapshot_id, device, seq), so DuckDB's zone maps already find ranges, and an index
 * would have to be kept in memory.
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
    title: 'memory timelines of torch.profiler; when, at which step and why a snapshot was dumped',
    sql: `
CREATE TYPE profiler_action AS ENUM ('preexisting', 'create', 'increment_version', 'destroy');
CREATE TYPE profiler_category AS ENUM ('parameter', 'optimizer_state', 'input', 'temporary', 'activation', 'gradient', 'autograd_detail', 'unknown');
CREATE TABLE profiler_memory (
  source_id INTEGER, ordinal INTEGER, time_ns BIGINT, action profiler_action, delta_bytes BIGINT, category profiler_category);
ALTER TABLE snapshot ADD COLUMN dump_trigger VARCHAR;
ALTER TABLE snapshot ADD COLUMN dump_trigger_origin VARCHAR;
ALTER TABLE snapshot ADD COLUMN step BIGINT;
ALTER TABLE snapshot ADD COLUMN step_origin VARCHAR;
`,
  },
];

export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version;
