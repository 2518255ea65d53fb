/** A small export of Nsight Systems in all the forms in which one comes, and what a store holds of it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import type { SQLiteValue } from 'node-sqlite3-wasm';
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

const INT = 'INTEGER';
const TEXT = 'TEXT';
const ints = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, INT]));
const ON_GPU = ['start', 'end', 'deviceId', 'contextId', 'greenContextId', 'streamId', 'correlationId', 'globalPid'];

export function smallExport(options: ExportOptions = {}): Tables {
  const { isNormalized = false, shiftNs = 0n, host = 'small-node-07', salt = 0 } = options;
  const { environment = ['RANK=3', 'WORLD_SIZE=8', 'AWS_SECRET_ACCESS_KEY=AKIA-small-secret'] } = options;
  const texts = new Map<string, number>([['', 0]]);
  const id = (text: string): number => {
    if (!texts.has(text)) texts.set(text, texts.size);
    return texts.get(text)!;
  };
  const at = (ns: number): bigint => BigInt(ns) + shiftNs + (isNormalized ? UTC_NS : 0n);
  const gpid = globalPid(PID);
  const gtid = globalTid(PID, TID);
  const onGpu = (start: number, end: number, stream: number, correlation: number): Row => ({
    start: at(start),
    end: at(end),
    deviceId: 0,
    contextId: 1,
    greenContextId: null,
    streamId: stream,
    correlationId: correlation + salt,
    globalPid: gpid,
  });
  const call = (name: string, start: number, correlation: number, returnValue = 0, isDriver = false): Row => ({
    start: at(start),
    end: at(start + 900),
    eventClass: isDriver ? 1 : 0,
    globalTid: gtid,
    correlationId: correlation + salt,
    nameId: id(name),
    returnValue,
    callchainId: null,
  });
  const memory = (start: number, isFree: boolean, address: number, bytes: number, more: Row = {}): Row => ({
    start: at(start),
    globalPid: gpid,
    deviceId: 0,
    contextId: 1,
    address: BigInt(address + salt * 2 ** 21),
    pc: 0x7ec010002110n,
    bytes,
    memKind: 2,
    memoryOperationType: isFree ? 1 : 0,
    name: null,
    correlationId: start + salt,
    streamId: null,
    localMemoryPoolAddress: null,
    localMemoryPoolReleaseThreshold: null,
    localMemoryPoolSize: null,
    localMemoryPoolUtilizedSize: null,
    ...more,
  });
  const nvtx = (eventType: number, start: number, end: number | null, text: string | null, more: Row = {}): Row => ({
    start: at(start),
    end: end === null ? null : at(end),
    eventType,
    rangeId: null,
    category: null,
    text,
    globalTid: gtid,
    endGlobalTid: null,
    textId: null,
    domainId: 0,
    ...more,
  });
  const longName = `void kernel_with_${'many_'.repeat(60)}arguments<float>(float*)`;
  const pairs = (values: readonly (readonly [string, string])[]): Row[] =>
    values.map(([name, value]) => ({ name, value }));
  const named = { name: TEXT, value: TEXT };
  const tables: Tables = {
    ProcessStreams: {
      columns: ints('globalPid', 'filenameId', 'contentId'),
      rows: [
        { globalPid: gpid, filenameId: id('/tmp/small-stdout.log'), contentId: id('token small-stdout-secret\n') },
      ],
    },
    TARGET_INFO_SYSTEM_ENV: {
      columns: { globalVid: INT, devStateName: TEXT, name: TEXT, nameEnum: INT, value: TEXT },
      rows: [
        { globalVid: VM, devStateName: 'Local (CLI)', name: 'Hostname', nameEnum: 619, value: host },
        {
          globalVid: VM,
          devStateName: 'Local (CLI)',
          name: 'DeviceEnvironment',
          nameEnum: 610,
          value: '{"AWS_SECRET_ACCESS_KEY": "AKIA-small-secret"}',
        },
      ],
    },
    TARGET_INFO_SESSION_START_TIME: {
      columns: { utcEpochNs: INT, utcTime: TEXT, localTime: TEXT },
      rows: [{ utcEpochNs: UTC_NS, utcTime: 'then', localTime: 'there' }],
    },
    ANALYSIS_DETAILS: {
      columns: ints('globalVid', 'duration', 'startTime', 'stopTime'),
      rows: [
        { globalVid: VM, duration: 2_000_000_000, startTime: 9_250_117_000_000_000, stopTime: 9_250_119_000_000_000 },
      ],
    },
    TARGET_INFO_GPU: {
      columns: { id: INT, name: TEXT, totalMemory: INT, busLocation: TEXT, uuid: TEXT },
      rows: [{ id: 5, name: 'NVIDIA H100', totalMemory: 85_000_000_000, busLocation: '0000:1b:00.0', uuid: 'GPU-5' }],
    },
    TARGET_INFO_CUDA_DEVICE: { columns: ints('gpuId', 'cudaId', 'pid'), rows: [{ gpuId: 5, cudaId: 0, pid: PID }] },
    PROCESSES: {
      columns: { globalPid: INT, pid: INT, name: TEXT },
      rows: [
        { globalPid: gpid, pid: PID, name: `${HOME}/python3` },
        { globalPid: globalPid(77), pid: 77, name: 'someone-else' },
      ],
    },
    ThreadNames: {
      columns: ints('nameId', 'priority', 'globalTid'),
      rows: [
        { nameId: id('pt_main_thread'), priority: 20, globalTid: gtid },
        { nameId: id('not of the job'), priority: 20, globalTid: globalTid(77, 77) },
      ],
    },
    DIAGNOSTIC_EVENT: {
      columns: { timestamp: INT, timestampType: INT, source: INT, severity: INT, text: TEXT, globalPid: INT },
      rows: [
        { timestamp: at(0), timestampType: 2, source: 3, severity: 1, text: 'Profiling has started.', globalPid: null },
        {
          timestamp: at(1_000),
          timestampType: 2,
          source: 3,
          severity: 2,
          text: `Loaded ${HOME}/lib.so.12, and not all events.`,
          globalPid: gpid,
        },
      ],
    },
    CUDA_GPU_MEMORY_USAGE_EVENTS: {
      columns: {
        ...ints('start', 'globalPid', 'deviceId', 'contextId', 'address', 'pc', 'bytes', 'memKind'),
        ...ints('memoryOperationType'),
        name: TEXT,
        ...ints('correlationId', 'streamId', 'localMemoryPoolAddress', 'localMemoryPoolReleaseThreshold'),
        ...ints('localMemoryPoolSize', 'localMemoryPoolUtilizedSize'),
      },
      rows: [
        memory(1_000, false, 0x7f00_0000_0000, 2 ** 21),
        memory(2_000, false, 0x7f00_0020_0000, 20 * 2 ** 20, { streamId: 7 }),
        memory(3_000, false, 0x7e00_0000_0000, 4096, { memKind: 1 }),
        memory(4_000, false, 0x7d00_0000_0000, 2 ** 16, { memKind: 5, name: 'a_static' }),
        memory(5_000, false, 0x302_0000_0000, 512, {
          localMemoryPoolAddress: 0x303_0000_0000,
          localMemoryPoolReleaseThreshold: 0,
          localMemoryPoolSize: 2 ** 25,
          localMemoryPoolUtilizedSize: 512,
        }),
        memory(6_000, true, 0x7f00_0000_0000, 2 ** 21),
      ],
    },
    CUDA_GPU_MEMORY_POOL_EVENTS: {
      columns: {
        ...ints('start', 'globalPid', 'deviceId', 'address', 'operationType', 'poolType', 'correlationId'),
        ...ints('minBytesToKeep', 'localMemoryPoolReleaseThreshold', 'localMemoryPoolSize'),
        ...ints('localMemoryPoolUtilizedSize'),
      },
      rows: [
        {
          start: at(4_900),
          globalPid: gpid,
          deviceId: 0,
          address: 0x303_0000_0000,
          operationType: 1,
          poolType: 1,
          correlationId: 4_900 + salt,
          minBytesToKeep: null,
          localMemoryPoolReleaseThreshold: 2 ** 20,
          localMemoryPoolSize: 2 ** 25,
          localMemoryPoolUtilizedSize: 1,
        },
      ],
    },
    CUPTI_ACTIVITY_KIND_RUNTIME: {
      columns: ints('start', 'end', 'eventClass', 'globalTid', 'correlationId', 'nameId', 'returnValue', 'callchainId'),
      rows: [
        call('cudaMalloc_v3020', 900, 1_000),
        call('cudaMalloc_v3020', 1_900, 2_000),
        call('cudaLaunchKernel_v7000', 10_000, 10_000),
        call('cuLaunchKernelEx', 11_000, 11_000, 0, true),
        call('cudaMalloc_v3020', 12_000, 12_000, 2),
      ],
    },
    CUPTI_ACTIVITY_KIND_KERNEL: {
      columns: {
        ...ints(...ON_GPU, 'demangledName', 'shortName', 'mangledName', 'launchType', 'registersPerThread'),
        ...ints('gridX', 'gridY', 'gridZ', 'blockX', 'blockY', 'blockZ', 'localMemoryTotal', 'graphNodeId'),
      },
      rows: [
        [10_500, 18_500, 10_000, 7],
        [18_600, 30_000, 11_000, 13],
      ].map(([start, end, correlation, stream]) => ({
        ...onGpu(start!, end!, stream!, correlation!),
        demangledName: id(longName),
        shortName: id('kernel_with_many'),
        mangledName: id('_Z6kernel'),
        launchType: 1,
        registersPerThread: 64,
        gridX: 132,
        gridY: 4,
        gridZ: 1,
        blockX: 128,
        blockY: 1,
        blockZ: 1,
        localMemoryTotal: 1024,
        graphNodeId: null,
      })),
    },
    CUPTI_ACTIVITY_KIND_MEMCPY: {
      columns: ints(
        ...ON_GPU,
        'bytes',
        'copyKind',
        'srcKind',
        'dstKind',
        'srcDeviceId',
        'dstDeviceId',
        'migrationCause',
      ),
      rows: [
        { ...onGpu(31_000, 32_000, 7, 31_000), bytes: 6_000_000_000, copyKind: 1, srcKind: 1, dstKind: 2 },
        { ...onGpu(33_000, 33_500, 7, 33_000), bytes: 8, copyKind: 2, srcKind: 2, dstKind: 0 },
        {
          ...onGpu(34_000, 34_500, 14, 34_000),
          bytes: 16_384,
          copyKind: 10,
          srcKind: 2,
          dstKind: 2,
          srcDeviceId: 1,
          dstDeviceId: 2,
        },
      ],
    },
    CUPTI_ACTIVITY_KIND_MEMSET: {
      columns: ints(...ON_GPU, 'value', 'bytes', 'memKind'),
      rows: [{ ...onGpu(35_000, 35_100, 7, 35_000), value: 0, bytes: 1024, memKind: 2 }],
    },
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      columns: ints(...ON_GPU, 'syncType', 'eventId'),
      rows: [
        { ...onGpu(36_000, 36_900, 7, 36_000), syncType: 3, eventId: null },
        { ...onGpu(37_000, 37_900, 4_294_967_295, 37_000), syncType: 4, eventId: null },
      ],
    },
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
      columns: ints(...ON_GPU, 'graphId', 'graphExecId'),
      rows: [{ ...onGpu(38_000, 39_000, 7, 38_000), graphId: 11, graphExecId: 12 }],
    },
    NVTX_EVENTS: {
      columns: {
        ...ints('start', 'end', 'eventType', 'rangeId', 'category'),
        text: TEXT,
        ...ints('globalTid', 'endGlobalTid', 'textId', 'domainId'),
      },
      rows: [
        nvtx(75, 0, null, 'NCCL', { domainId: 1 }),
        nvtx(59, -2_000, 50_000, 'step 1 – größer'),
        nvtx(59, 500, 9_000, null, { textId: id('ncclAllReduce'), domainId: 1 }),
        nvtx(34, 600, null, 'a mark'),
        nvtx(60, 700, 800, 'over threads', { rangeId: 9, endGlobalTid: globalTid(PID, TID + 1) }),
        nvtx(59, 40_000, null, 'never ended'),
      ],
    },
    CUBLAS_EVENTS: {
      columns: ints('start', 'end', 'eventClass', 'globalTid', 'nameId'),
      rows: [{ start: at(9_500), end: at(12_500), eventClass: 29, globalTid: gtid, nameId: id('cublasGemmEx') }],
    },
    CUPTI_ACTIVITY_KIND_OVERHEAD: {
      columns: { start: INT, end: INT, factor: 'REAL', note: TEXT },
      rows: [
        { start: at(1), end: at(2), factor: 0.5, note: 'tab\t"quote"' },
        { start: at(3), end: 2n ** 62n, factor: 3, note: null },
      ],
    },
    ENUM_GPU_CTX_SWITCH: {
      columns: { id: 'INTEGER PRIMARY KEY', name: TEXT, label: TEXT },
      rows: [
        { id: -1, name: 'UNKNOWN', label: 'Unknown' },
        { id: 0, name: 'START', label: 'Start' },
      ],
    },
    META_DATA_CAPTURE: {
      columns: named,
      rows: pairs([
        ['CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Graph'],
        ['COLLECT_GPU_MEMORY_USAGE', 'true'],
        ['PROCESS_0:COMMAND', '/usr/bin/torchrun'],
        ['PROCESS_0:ARGUMENT', 'argv-secret'],
        ['PROCESS_0:WORKING_DIR', HOME],
        ['PROCESS_0:USER_NAME', 'small-user'],
        ...environment.map((line) => ['PROCESS_0:ENVIRONMENT_VARIABLE', line] as const),
      ]),
    },
    META_DATA_EXPORT: {
      columns: named,
      rows: pairs([
        ['EXPORT_PRODUCT_VERSION', '2026.1.1.204'],
        ['EXPORT_SCHEMA_VERSION', '3.24.14'],
        ['EXPORT_HOST', 'small-laptop'],
        ['EXPORT_USER', 'small-user'],
        ['EXPORT_PARAM_INPUT_PATH_ABS', `${HOME}/report.nsys-rep`],
        ['EXPORT_PARAM_LAZY', 'true'],
        ['EXPORT_PARAM_TIME_NORMALIZE', String(isNormalized)],
        ['EXPORT_PARAM_TIME_SHIFT', String(shiftNs)],
        ['EXPORT_PARAM_TABLES_TO_EXPORT', ''],
        ['EXPORT_PARAM_TIMES_TO_EXPORT', ''],
        ['EXPORT_CONFIG_TIME_SHIFT', '0'],
      ]),
    },
  };
  // The exporter numbers the launched process's environment with all other texts, and no table names it.
  id(environment.join('\n'));
  for (const line of environment) id(line);
  id('named by nobody');
  const strings = [...texts].map(([value, number]) => ({ id: number, value }));
  return { StringIds: { columns: { id: 'INTEGER PRIMARY KEY', value: TEXT }, rows: strings }, ...tables };
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
        return `${quoted(column)} ${typeOf(column, declared, values, integers, dictionaries)}`;
      });
      await connection.run(`CREATE TABLE ${quoted(name)} (${list.join(', ')})`);
      const literals = rows.map(
        (row) =>
          `(${Object.keys(columns)
            .map((column) => literal(row[column] ?? null))
            .join(', ')})`,
      );
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
  integers: 'INTEGER' | 'BIGINT',
  dictionaries: boolean,
): string {
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

type Fields = (row: Row, names: Readonly<Record<string, string>>) => Json;

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

const CUDA_EVENT = {
  start: 'startNs',
  end: 'endNs',
  correlationId: 'correlationId',
  deviceId: 'deviceId',
  contextId: 'contextId',
  streamId: 'streamId',
  globalPid: 'globalPid',
};
const same = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, name]));
const capital = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1);
const MEMORY_FIELDS = [
  ...['globalPid', 'deviceId', 'contextId', 'address', 'pc', 'bytes', 'memKind', 'memoryOperationType', 'name'],
  ...['operationType', 'poolType', 'correlationId', 'streamId'],
];
const POOL_FIELDS = [
  'localMemoryPoolAddress',
  'localMemoryPoolReleaseThreshold',
  'localMemoryPoolSize',
  'localMemoryPoolUtilizedSize',
];

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
    nameIdx: String(nameId),
    priority: String(priority),
    globalTid: String(thread),
  }));
  lines.push({ data: threads });
  for (const { globalPid: process, name } of rows('PROCESSES')) {
    const own = process === globalPid(PID) ? { EnvironId: environmentId, WorkDir: HOME } : {};
    const event = { GlobalPid: String(process), Command: name, Args: ['argv-secret'], NsTime: true };
    lines.push({ Type: 27, CommEvent: { ...event, ...own } });
  }
  const call = { start: 'startNs', end: 'endNs', correlationId: 'correlationId', globalTid: 'globalTid' };
  const api = { ...call, nameId: 'name', returnValue: 'returnValue', eventClass: 'eventClass' };
  for (const row of rows('CUPTI_ACTIVITY_KIND_RUNTIME')) lines.push({ Type: 48, TraceProcessEvent: fields(row, api) });
  for (const row of rows('CUBLAS_EVENTS')) lines.push({ Type: 48, TraceProcessEvent: fields(row, api) });
  // A mark of the tracer itself, which is no row of anything.
  lines.push({ Type: 47, TraceProcessEvent: { startNs: '1', endNs: '1', eventClass: 6, globalTid: '281' } });
  const work = (type: number, name: string, sub: string, more: Readonly<Record<string, string>>, eventClass: number) =>
    rows(name).forEach((row) => {
      lines.push({ Type: type, CudaEvent: { ...fields(row, CUDA_EVENT), eventClass, [sub]: fields(row, more) } });
    });
  const kernel = same('demangledName', 'shortName', 'mangledName', 'registersPerThread', 'localMemoryTotal');
  const sizes = same('gridX', 'gridY', 'gridZ', 'blockX', 'blockY', 'blockZ');
  work(79, 'CUPTI_ACTIVITY_KIND_KERNEL', 'kernel', { ...kernel, ...sizes }, 3);
  const copy = same('copyKind', 'srcKind', 'dstKind', 'srcDeviceId', 'dstDeviceId');
  work(80, 'CUPTI_ACTIVITY_KIND_MEMCPY', 'memcpy', { bytes: 'sizebytes', ...copy }, 1);
  work(80, 'CUPTI_ACTIVITY_KIND_MEMSET', 'memset', { bytes: 'sizebytes', value: 'value', memKind: 'memKind' }, 2);
  work(106, 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION', 'sync', { syncType: 'syncType' }, 5);
  work(130, 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE', 'graphTrace', same('graphId', 'graphExecId'), 6);
  for (const row of rows('NVTX_EVENTS')) {
    const event = fields(row, {
      start: 'Timestamp',
      end: 'EndTimestamp',
      globalTid: 'GlobalTid',
      endGlobalTid: 'EndGlobalTid',
      domainId: 'DomainId',
      rangeId: 'RangeId',
      text: 'Text',
      textId: 'TextId',
    });
    lines.push({ Type: row['eventType'], NvtxEvent: { Type: row['eventType'], ...event, NsTime: true } });
  }
  const device = (type: number, wrapper: string, row: Row): void =>
    void lines.push(memoryRecord(type, wrapper, row, memory, fields));
  for (const row of rows('CUDA_GPU_MEMORY_USAGE_EVENTS')) device(117, 'CudaDeviceMemoryUsage', row);
  for (const row of rows('CUDA_GPU_MEMORY_POOL_EVENTS')) device(129, 'CudaDeviceMemoryPool', row);
  for (const { timestamp, severity, text } of rows('DIAGNOSTIC_EVENT')) {
    const time = { Time: String(timestamp), Type: 'TargetTimestamp', NsTime: true };
    const event = { Timestamp: time, Source: 'Analysis', Level: severity === 2 ? 'Warning' : 'Info', Text: text };
    lines.push({ Type: 49, DiagnosticEvent: event });
  }
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}

function memoryRecord(
  type: number,
  wrapper: string,
  row: Row,
  spelling: NonNullable<JsonSpelling['memory']>,
  fields: Fields,
): Json {
  const pool = fields(row, same(...POOL_FIELDS));
  switch (spelling) {
    case 'columns':
      return {
        Type: type,
        [`${wrapper}Event`]: { ...fields(row, { start: 'startNs', ...same(...MEMORY_FIELDS) }), ...pool },
      };
    case 'capitals': {
      const own = fields(row, Object.fromEntries(MEMORY_FIELDS.map((name) => [name, capital(name)])));
      const pools = fields(row, Object.fromEntries(POOL_FIELDS.map((name) => [name, capital(name)])));
      const Timestamp = { Time: String(row['start']), Type: 'TargetTimestamp', NsTime: true };
      return { Type: type, GpuMemoryEvent: { Timestamp, ...own, ...pools } };
    }
    case 'nested': {
      const outer = fields(row, CUDA_EVENT);
      const inner = fields(row, same(...MEMORY_FIELDS.filter((name) => !(name in CUDA_EVENT))));
      return { Type: type, CudaEvent: { ...outer, memory: { ...inner, pool } } };
    }
  }
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
  const found: Record<string, string[]> = {};
  for (const { table, columns } of Object.values(NSYS_LAYOUTS)) {
    const names = columns.map(({ name }) => name).filter((name) => name !== 'source_id');
    const list = names.map((name) =>
      isText(name)
        ? `(SELECT text FROM nsys_text AS t WHERE t.source_id = r.source_id AND t.text_id = r.${name}) AS ${name}`
        : `r.${name}`,
    );
    found[table] = await asLines(store, `SELECT ${list.join(', ')} FROM ${table} AS r`, sourceId);
  }
  for (const table of SMALL_TABLES)
    found[table] = await asLines(store, `SELECT r.* EXCLUDE (source_id) FROM ${table} AS r`, sourceId);
  found['nsys_table'] = await asLines(store, 'SELECT r.name, r.row_count FROM nsys_table AS r', sourceId);
  found['nsys_report'] = await asLines(store, 'SELECT r.* EXCLUDE (source_id, form) FROM nsys_report AS r', sourceId);
  found['log_env'] = await asLines(store, 'SELECT r.key, r.value, r.rank, r.host FROM env_value AS r', sourceId);
  return found;
}

async function asLines(store: Store, sql: string, sourceId: number): Promise<string[]> {
  const rows = await store.select(`${sql} WHERE r.source_id = $source_id`, { source_id: sourceId });
  return rows.map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))).sort();
}

/** Every text of every table of a store, whatever its schema. */
export async function allTexts(store: Store): Promise<string[]> {
  const columns = await store.select(
    "SELECT table_schema AS s, table_name AS t, column_name AS c FROM information_schema.columns WHERE data_type = 'VARCHAR' AND (table_schema, table_name) IN (SELECT (table_schema, table_name) FROM information_schema.tables WHERE table_type = 'BASE TABLE')",
  );
  const texts = new Set<string>();
  for (const { s, t, c } of columns) {
    const from = `${quoted(String(s))}.${quoted(String(t))}`;
    const sql = `SELECT DISTINCT ${quoted(String(c))} AS text FROM ${from} WHERE ${quoted(String(c))} IS NOT NULL`;
    for (const { text } of await store.select(sql)) texts.add(String(text));
  }
  return [...texts];
}

export function readWhole(path: string): Buffer {
  return readFileSync(path);
}

export function put(path: string, content: string | Uint8Array): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
}
