/** A small export of Nsight Systems in all the forms in which one comes, and what a store holds of it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { SQLiteValue } from 'node-sqlite3-wasm';
import { stringTable } from '../../samples/generate/write/nsys/capture.js';
import { NSYS_LAYOUTS } from '../../src/model/nsys-rows.js';
import type { Store } from '../../src/store/store.js';
import { makeDatabase } from '../sqlite/oracle.js';

export type Cell = number | bigint | string | null | Uint8Array;
export type Row = Readonly<Record<string, Cell>>;
export interface Table {
  /** Name → declared type. */
  readonly columns: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
}
export type Tables = Readonly<Record<string, Table>>;

export interface ExportOptions {
  /** `--ts-normalize=true`. */
  readonly isNormalized?: boolean;
  /** `--ts-shift`. */
  readonly shiftNs?: bigint;
  /** `NAME=value` of the launched process. */
  readonly environment?: readonly string[];
  readonly host?: string;
  /** Added to every correlation and address, so that two exports differ. */
  readonly salt?: number;
}

export const PID = 4101;
export const TID = 4101;
export const UTC_NS = 1_780_000_000_123_456_789n;
const VM = 2n ** 48n;
export const globalPid = (pid: number): bigint => VM + (BigInt(pid) << 24n);
export const globalTid = (pid: number, tid: number): bigint => globalPid(pid) + BigInt(tid);

/** In no store, whatever is asked for. */
export const SECRETS = ['AKIA-small-secret', 'small-stdout-secret', 'argv-secret', 'small-laptop'];
/** Only where every table is wanted, in the paths of programs and libraries. */
export const HOME = '/home/small-user/run';

const SMALL = readFileSync(join(import.meta.dirname, 'small-export.tsv'), 'utf8')
  .trim()
  .split('\n')
  .slice(1);

/**
 * The tables of `small-export.tsv`. Its cells: `~` null, `'text`, `#text` by its number in StringIds, `@ns` a time,
 * `+n` a correlation and `&n` an address, both salted, `$name` a value defined below, and numbers, with an `n` for
 * bigints.
 */
export function smallExport(options: ExportOptions = {}): Tables {
  const { isNormalized = false, shiftNs = 0n, host = 'small-node-07', salt = 0 } = options;
  const { environment = ['RANK=3', 'WORLD_SIZE=8', 'AWS_SECRET_ACCESS_KEY=AKIA-small-secret'] } = options;
  const { id, rows: strings } = stringTable();
  const named: Readonly<Record<string, Cell>> = {
    ...{ vm: VM, pid: globalPid(PID), tid: globalTid(PID, TID), nextTid: globalTid(PID, TID + 1) },
    ...{ other: globalPid(77), otherTid: globalTid(77, 77), host },
    ...{ normalized: String(isNormalized), shift: String(shiftNs) },
  };
  const many = 'many_'.repeat(60);
  const plain = (text: string): string => text.replaceAll('\\n', '\n').replaceAll('\\t', '\t').replace('MANY', many);
  const number = (text: string): number | bigint => (text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text));
  const cell = (text: string): Cell => {
    const tail = text.slice(1);
    if (text === '~') return null;
    if (text.startsWith("'")) return plain(tail);
    if (text.startsWith('#')) return id(plain(tail));
    if (text.startsWith('@')) return BigInt(tail) + shiftNs + (isNormalized ? UTC_NS : 0n);
    if (text.startsWith('+')) return Number(tail) + salt;
    if (text.startsWith('&')) return BigInt(tail) + BigInt(salt) * 2n ** 21n;
    return text.startsWith('$') ? named[tail]! : number(text);
  };
  const tables: Record<string, { columns: Record<string, string>; rows: Row[] }> = {
    StringIds: { columns: { id: 'INTEGER PRIMARY KEY', value: 'TEXT' }, rows: [] },
  };
  let last = tables['StringIds']!;
  const lines = SMALL.flatMap((text) => {
    const isRepeated = text.endsWith('$environment');
    return isRepeated ? environment.map((variable) => text.replace('$environment', `'${variable}`)) : [text];
  });
  for (const line of lines) {
    const [name = '', ...cells] = line.split('\t');
    if (name === '') {
      last.rows.push(Object.fromEntries(Object.keys(last.columns).map((column, i) => [column, cell(cells[i] ?? '~')])));
      continue;
    }
    const columns = cells[0]!.split(' ').map((text) => text.split(':'));
    const types = columns.map(([column, type = 'INTEGER']) => [column, type.replaceAll('_', ' ')]);
    last = { columns: Object.fromEntries(types), rows: [] };
    tables[name] = last;
  }
  // The exporter numbers the launched process's environment with all other texts, and no table refers to it.
  for (const text of [environment.join('\n'), ...environment, 'in no table']) id(text);
  tables['StringIds']!.rows.push(...(strings() as Row[]));
  return tables;
}

/** The same tables but for some; null leaves one out. */
export function changed(tables: Tables, changes: Readonly<Record<string, Partial<Table> | null>>): Tables {
  const all: Record<string, Table> = { ...tables };
  for (const [name, change] of Object.entries(changes)) {
    if (change === null) delete all[name];
    else all[name] = { columns: {}, rows: [], ...all[name], ...change };
  }
  return all;
}

/** A column fewer. */
export function without(table: Table, column: string): Table {
  const drop = <T>(all: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => name !== column));
  return { columns: drop(table.columns), rows: table.rows.map(drop) };
}

// ---- SQLite ------------------------------------------------------------------------------------------------------

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export function sqliteBytes(tables: Tables, pageSize = 4096): Buffer {
  return makeDatabase(
    (database) => {
      database.exec('BEGIN');
      for (const [name, { columns, rows }] of Object.entries(tables)) {
        const names = Object.keys(columns);
        const list = names.map((column) => `${quoted(column)} ${columns[column]}`).join(', ');
        database.exec(`CREATE TABLE ${quoted(name)} (${list})`);
        const places = names.map(() => '?').join(', ');
        const insert = database.prepare(`INSERT INTO ${quoted(name)} VALUES (${places})`);
        for (const row of rows) insert.run(names.map((column): SQLiteValue => row[column] ?? null));
        insert.finalize();
      }
      database.exec('COMMIT');
    },
    { pageSize },
  );
}

// ---- Parquet -----------------------------------------------------------------------------------------------------

export interface ParquetSpelling {
  /** Type of every INTEGER column that its values fit; ids of processes and threads are UBIGINT if this is INTEGER. */
  readonly integers?: 'INTEGER' | 'BIGINT';
  /** TEXT columns as ENUM, which is written as a dictionary. */
  readonly dictionaries?: boolean;
}

/** A folder with one file a table. */
export async function writeParquetFolder(
  directory: string,
  tables: Tables,
  { integers = 'BIGINT', dictionaries = false }: ParquetSpelling = {},
): Promise<void> {
  mkdirSync(directory, { recursive: true });
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    for (const [name, { columns, rows }] of Object.entries(tables)) {
      const list = Object.entries(columns).map(([column, declared]) => {
        const values = rows.map((row) => row[column] ?? null);
        return `${quoted(column)} ${typeOf(column, declared, values, { integers, dictionaries })}`;
      });
      await connection.run(`CREATE TABLE ${quoted(name)} (${list.join(', ')})`);
      const cells = (row: Row): string[] => Object.keys(columns).map((column) => literal(row[column] ?? null));
      const literals = rows.map((row) => `(${cells(row).join(', ')})`);
      if (rows.length > 0) await connection.run(`INSERT INTO ${quoted(name)} VALUES ${literals.join(', ')}`);
      const file = join(directory, `${name}.parquet`).replaceAll("'", "''");
      await connection.run(`COPY ${quoted(name)} TO '${file}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`);
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function typeOf(
  column: string,
  declared: string,
  values: readonly Cell[],
  spelling: Required<ParquetSpelling>,
): string {
  const { integers, dictionaries } = spelling;
  if (/REAL/.test(declared)) return 'DOUBLE';
  if (/TEXT/.test(declared)) {
    const texts = [...new Set(values.filter((value) => typeof value === 'string'))];
    return dictionaries && texts.length > 0 ? `ENUM (${texts.map(literal).join(', ')})` : 'VARCHAR';
  }
  if (integers === 'INTEGER' && /^global|^address$|^pc$/.test(column)) return 'UBIGINT';
  const fits = values.every((value) => value === null || Math.abs(Number(value)) < 2 ** 31);
  return fits ? integers : 'BIGINT';
}

function literal(value: Cell): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  return value instanceof Uint8Array ? `'${Buffer.from(value).toString('hex')}'` : String(value);
}

// ---- JSON --------------------------------------------------------------------------------------------------------

export interface JsonSpelling {
  /** One line with all strings, or one a string. */
  readonly strings?: 'table' | 'lines';
  /** How records of memory are spelled, which no public file shows. */
  readonly memory?: 'columns' | 'capitals' | 'nested';
  /** Zeros left out, as protocol buffers are printed. */
  readonly omitsZeros?: boolean;
}

type Json = Readonly<Record<string, unknown>>;

type Names = Readonly<Record<string, string>>;
type Fields = (row: Row, names: Names) => Json;

/** 64-bit integers are strings and 32-bit ones numbers; what is missing is left out. */
const fieldsOf =
  (omitsZeros: boolean): Fields =>
  (row, names) => {
    const entries = Object.entries(names).flatMap(([column, name]) => {
      const value = row[column] ?? null;
      if (value === null || (omitsZeros && Number(value) === 0)) return [];
      if (typeof value === 'string') return [[name, value]];
      return [[name, Math.abs(Number(value)) < 2 ** 31 ? Number(value) : String(value)]];
    });
    return Object.fromEntries(entries);
  };

/** `COLUMN` or `COLUMN:NAME`, where the record has another name. */
const names = (text: string): Names => Object.fromEntries(text.split(' ').map((one) => `${one}:${one}`.split(':')));
const capitals = (all: Names): Names =>
  Object.fromEntries(Object.keys(all).map((name) => [name, name.slice(0, 1).toUpperCase() + name.slice(1)]));

const CALL = names('start:startNs end:endNs correlationId globalTid nameId:name returnValue eventClass');
const CUDA_EVENT = names('start:startNs end:endNs correlationId deviceId contextId streamId globalPid');
const NVTX = names(
  'start:Timestamp end:EndTimestamp globalTid:GlobalTid endGlobalTid:EndGlobalTid domainId:DomainId rangeId:RangeId text:Text textId:TextId',
);
const MEMORY = names(
  'globalPid deviceId contextId address pc bytes memKind memoryOperationType name operationType poolType correlationId streamId',
);
const POOL = names(
  'localMemoryPoolAddress localMemoryPoolReleaseThreshold localMemoryPoolSize localMemoryPoolUtilizedSize',
);
/** Of the device: type, table, name of the record, its fields and class. */
const WORK = (
  [
    [79, 'KERNEL', 'kernel', 'demangledName shortName mangledName registersPerThread localMemoryTotal', 3],
    [80, 'MEMCPY', 'memcpy', 'bytes:sizebytes copyKind srcKind dstKind srcDeviceId dstDeviceId', 1],
    [80, 'MEMSET', 'memset', 'bytes:sizebytes value memKind', 2],
    [106, 'SYNCHRONIZATION', 'sync', 'syncType', 5],
    [130, 'GRAPH_TRACE', 'graphTrace', 'graphId graphExecId', 6],
  ] as const
).map(([type, table, sub, text, eventClass]) => {
  const sizes = table === 'KERNEL' ? names('gridX gridY gridZ blockX blockY blockZ') : {};
  return { type, table: `CUPTI_ACTIVITY_KIND_${table}`, sub, fields: { ...names(text), ...sizes }, eventClass };
});

export function jsonLines(
  tables: Tables,
  { strings = 'table', memory = 'columns', omitsZeros = false }: JsonSpelling = {},
): string {
  const rows = (name: string): readonly Row[] => tables[name]?.rows ?? [];
  const lines: Json[] = [];
  const fields = fieldsOf(omitsZeros);
  const texts = rows('StringIds');
  const environment = rows('META_DATA_CAPTURE').flatMap(({ name, value }) =>
    String(name).endsWith(':ENVIRONMENT_VARIABLE') ? [String(value)] : [],
  );
  const environmentId = texts.find(({ value }) => value === environment.join('\n'))?.['id'] ?? 0;
  if (strings === 'table') lines.push({ data: texts.map(({ value }) => value) });
  else for (const { id, value } of texts) lines.push({ type: 'String', id: String(id), value });
  const threads = rows('ThreadNames').map(({ nameId, priority, globalTid: thread }) => ({
    ...{ nameIdx: String(nameId), priority: String(priority), globalTid: String(thread) },
  }));
  lines.push({ data: threads });
  for (const { globalPid: process, name } of rows('PROCESSES')) {
    const environment = process === globalPid(PID) ? { EnvironId: environmentId, WorkDir: HOME } : {};
    const event = { GlobalPid: String(process), Command: name, Args: ['argv-secret'], NsTime: true };
    lines.push({ Type: 27, CommEvent: { ...event, ...environment } });
  }
  for (const row of [...rows('CUPTI_ACTIVITY_KIND_RUNTIME'), ...rows('CUBLAS_EVENTS')])
    lines.push({ Type: 48, TraceProcessEvent: fields(row, CALL) });
  // A mark of the tracer itself, which does not become a row.
  lines.push({ Type: 47, TraceProcessEvent: { startNs: '1', endNs: '1', eventClass: 6, globalTid: '281' } });
  for (const { type, table, sub, fields: more, eventClass } of WORK)
    for (const row of rows(table))
      lines.push({ Type: type, CudaEvent: { ...fields(row, CUDA_EVENT), eventClass, [sub]: fields(row, more) } });
  for (const row of rows('NVTX_EVENTS')) {
    const type = row['eventType'];
    lines.push({ Type: type, NvtxEvent: { Type: type, ...fields(row, NVTX), NsTime: true } });
  }
  for (const row of rows('CUDA_GPU_MEMORY_USAGE_EVENTS'))
    lines.push({ Type: 117, ...memoryRecord('CudaDeviceMemoryUsageEvent', row, memory, fields) });
  for (const row of rows('CUDA_GPU_MEMORY_POOL_EVENTS'))
    lines.push({ Type: 129, ...memoryRecord('CudaDeviceMemoryPoolEvent', row, memory, fields) });
  for (const { timestamp, severity, text } of rows('DIAGNOSTIC_EVENT')) {
    const event = { Source: 'Analysis', Level: severity === 2 ? 'Warning' : 'Info', Text: text };
    lines.push({ Type: 49, DiagnosticEvent: { Timestamp: targetTime(timestamp!), ...event } });
  }
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

const targetTime = (ns: Cell): Json => ({ Time: String(ns), Type: 'TargetTimestamp', NsTime: true });

function memoryRecord(wrapper: string, row: Row, spelling: JsonSpelling['memory'], fields: Fields): Json {
  if (spelling === 'capitals')
    return {
      GpuMemoryEvent: { Timestamp: targetTime(row['start']!), ...fields(row, capitals({ ...MEMORY, ...POOL })) },
    };
  if (spelling !== 'nested') return { [wrapper]: fields(row, { start: 'startNs', ...MEMORY, ...POOL }) };
  const inner = Object.fromEntries(Object.entries(MEMORY).filter(([name]) => !(name in CUDA_EVENT)));
  return { CudaEvent: { ...fields(row, CUDA_EVENT), memory: { ...fields(row, inner), pool: fields(row, POOL) } } };
}

// ---- Zstandard ---------------------------------------------------------------------------------------------------

/** A frame of stored blocks: not smaller, but of the format. */
export function storedZstd(content: Uint8Array): Buffer {
  const most = 128 * 1024;
  const parts = [Buffer.from('28b52ffd0038', 'hex')];
  for (let at = 0; at < content.length; at += most) {
    const piece = content.subarray(at, at + most);
    const word = piece.length << 3;
    parts.push(Buffer.from([word & 0xff, (word >> 8) & 0xff, word >> 16]), Buffer.from(piece));
  }
  return Buffer.concat([...parts, Buffer.from([1, 0, 0])]);
}

// ---- what a store holds ------------------------------------------------------------------------------------------

export type Stored = Readonly<Record<string, readonly string[]>>;

const SMALL_TABLES = ['nsys_gpu', 'nsys_device', 'nsys_process', 'nsys_thread', 'nsys_diagnostic', 'nsys_option'];
const isText = (name: string): boolean => /^(?:name|demangled|text|symbol|module)_id$/.test(name);

/** Every row of a source by table, texts instead of their numbers, in no order but their own; `seq` only orders. */
export async function storedRows(store: Store, sourceId: number): Promise<Stored> {
  const texts: Record<string, string[]> = {};
  const read = async (name: string, list: string, table = name): Promise<void> => {
    texts[name] = await asLines(store, `SELECT ${list} FROM ${table} AS r`, sourceId);
  };
  for (const { table, columns } of Object.values(NSYS_LAYOUTS)) {
    const names = columns.map(({ name }) => name).filter((name) => name !== 'source_id');
    const list = names.map((name) =>
      isText(name)
        ? `(SELECT text FROM nsys_text AS t WHERE t.source_id = r.source_id AND t.text_id = r.${name}) AS ${name}`
        : `r.${name}`,
    );
    await read(table, list.join(', '));
  }
  for (const table of SMALL_TABLES) await read(table, 'r.* EXCLUDE (source_id)');
  await read('nsys_table', 'r.name, r.row_count');
  await read('nsys_report', 'r.* EXCLUDE (source_id, form)');
  await read('log_env', 'r.key, r.value, r.rank, r.host', 'env_value');
  return texts;
}

async function asLines(store: Store, sql: string, sourceId: number): Promise<string[]> {
  const rows = await store.select(`${sql} WHERE r.source_id = $source_id`, { source_id: sourceId });
  return rows.map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))).sort();
}

/** Every text of every table of a store, whatever its schema. */
export async function allTexts(store: Store): Promise<string[]> {
  const columns = await store.select(
    "SELECT table_schema AS s, table_name AS t, column_name AS c FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name) WHERE data_type = 'VARCHAR' AND table_type = 'BASE TABLE'",
  );
  const texts = new Set<string>();
  for (const { s, t, c } of columns) {
    const from = `${quoted(String(s))}.${quoted(String(t))}`;
    const sql = `SELECT DISTINCT ${quoted(String(c))} AS text FROM ${from} WHERE ${quoted(String(c))} IS NOT NULL`;
    for (const { text } of await store.select(sql)) texts.add(String(text));
  }
  return [...texts];
}

export function put(path: string, content: string | Uint8Array): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
}
