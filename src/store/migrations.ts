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
];

export const SCHEMA_VERSION = MIGRATIONS.at(-1)!.version;
