/** Writes a planted capture as an Nsight Systems export, by the `sqlite3` program: the file is whatever SQLite itself makes of it. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { devNull } from 'node:os';
import { hasSqlite } from '../../../samples/generate/write/nsys/sqlite-program.js';
import { DDL_2_9 } from './ddl-2-9.js';
import { DDL_3_16 } from './ddl-3-16.js';
import { DDL_3_28 } from './ddl-3-28.js';
import { type ApiCall, COPY, KIND_NUMBERS, NVTX, type PoolState } from './rows.js';
import type { Scenario } from './scenario.js';

export const NSYS_SCHEMAS = ['2.9', '3.16', '3.28'] as const;
export type NsysSchema = (typeof NSYS_SCHEMAS)[number];

export interface ExportOptions {
  /** Tables left out, as the exporter leaves out what was not captured. */
  readonly omit?: readonly string[];
  /** False: `--cuda-memory-usage` was off; no memory and pool events, and the capture says so. */
  readonly collectsMemory?: boolean;
  /** `--ts-normalize=true`: all times are UTC. Not in 2.9. */
  readonly isNormalized?: boolean;
  /** `--ts-shift=`: ns added to every time. Not in 2.9. */
  readonly timeShiftNs?: number;
  /** `--tables=`: only these, and the exporter's own. Not in 2.9. */
  readonly tables?: readonly string[];
  readonly pageBytes?: number;
  /** Rows of {@link WAL_TABLE} lie in a write-ahead log beside the file, and nowhere else. */
  readonly leavesWal?: boolean;
}

export interface WrittenExport {
  readonly path: string;
  readonly schema: NsysSchema;
  /** Of every table written. */
  readonly rows: Readonly<Record<string, number>>;
}

/** The program's name, or undefined where there is none. */
export function sqlite3Program(): string | undefined {
  return hasSqlite() ? 'sqlite3' : undefined;
}

export function writeNsysExport(
  path: string,
  scenario: Scenario,
  schema: NsysSchema,
  options: ExportOptions = {},
): WrittenExport {
  const program = sqlite3Program();
  if (program === undefined) throw new Error('no sqlite3 program');
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${suffix}`, { force: true });
  const tables = exportTables(scenario, schema, options);
  const run = spawnSync(program, ['-batch', '-bail', '-init', devNull, path], {
    input: exportSql(tables, options),
    encoding: 'utf8',
  });
  if (run.status !== 0) throw new Error(`sqlite3 failed: ${run.stderr}`);
  return { path, schema, rows: Object.fromEntries(tables.map(({ name, rows }) => [name, rows.length])) };
}

/** Bytes stored as text, whatever they are. */
interface RawText {
  readonly raw: Uint8Array;
}
type Cell = number | bigint | string | null | undefined | RawText;
type Row = Readonly<Record<string, Cell>>;

interface Table {
  readonly name: string;
  readonly ddl: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

const RELEASES: Readonly<
  Record<NsysSchema, { readonly ddl: string; readonly version: string; readonly product: string }>
> = {
  '2.9': { ddl: DDL_2_9, version: '2.9.1', product: '2022.2.1.31' },
  '3.16': { ddl: DDL_3_16, version: '3.16.1', product: '2024.6.2.225' },
  '3.28': { ddl: DDL_3_28, version: '3.28.1', product: '2026.4.1.100' },
};

export const WAL_TABLE = 'CUDA_GPU_MEMORY_USAGE_EVENTS';
const MEMORY_TABLES = [WAL_TABLE, 'CUDA_GPU_MEMORY_POOL_EVENTS'];
/** Written whatever `--tables` says. */
const OWN_TABLES = ['META_DATA_EXPORT', 'META_DATA_CAPTURE'];

const VM = 2 ** 48;
export const globalPid = (pid: number): number => VM + pid * 2 ** 24;
export const globalTid = (pid: number, tid: number): number => globalPid(pid) + tid;

/** Tables of a schema as its DDL has them: name, text, columns. */
function declaredTables(ddl: string): Map<string, Omit<Table, 'rows'>> {
  const texts = [...ddl.matchAll(/^CREATE TABLE (\w+) \([\s\S]*?^\);$/gm)];
  return new Map(
    texts.map(([text, name]) => {
      const columns = [...text.matchAll(/^ {4}(\w+) +(?:INTEGER|TEXT|REAL)/gm)].map(([, column]) => column!);
      return [name!, { name: name!, ddl: text, columns }];
    }),
  );
}

/** Numbers for texts, in order of first use after the empty one. */
function stringTable(): { id(text: string): number; rows(): Row[] } {
  const ids = new Map<string, number>([['', 0]]);
  return {
    id(text) {
      const known = ids.get(text);
      if (known !== undefined) return known;
      ids.set(text, ids.size);
      return ids.size - 1;
    },
    rows: () => [...ids].map(([value, id]) => ({ id, value })),
  };
}

function exportTables(scenario: Scenario, schema: NsysSchema, options: ExportOptions): Table[] {
  const { omit = [], tables, collectsMemory = true, isNormalized = false, timeShiftNs = 0 } = options;
  if (schema === '2.9' && (isNormalized || timeShiftNs !== 0 || tables !== undefined))
    throw new Error('exporters of 2.9 have no such switch');
  const strings = stringTable();
  const offset = BigInt(timeShiftNs) + (isNormalized ? scenario.utcEpochNs : 0n);
  const at = (ns: number): bigint => BigInt(ns) + offset;
  const contents: Readonly<Record<string, readonly Row[]>> = {
    ...targetRows(scenario, schema, strings.id),
    ...eventRows(scenario, schema, strings.id, at),
    ...metaRows(scenario, schema, options),
    ...(schema === '2.9' ? {} : ENUMERATIONS),
  };
  const isWanted = (name: string): boolean =>
    !omit.includes(name) &&
    (collectsMemory || !MEMORY_TABLES.includes(name)) &&
    (tables === undefined || tables.includes(name) || OWN_TABLES.includes(name));
  const known = new Set(NSYS_SCHEMAS.flatMap((other) => [...declaredTables(RELEASES[other].ddl).keys()]));
  for (const name of [...Object.keys(contents), ...omit, ...(tables ?? [])])
    if (!known.has(name)) throw new Error(`no schema has a table ${name}`);
  // What the schema does not have stays out, and so do empty tables: the exporter is lazy.
  return [...declaredTables(RELEASES[schema].ddl).values()].flatMap((table) => {
    const rows = table.name === 'StringIds' ? strings.rows() : (contents[table.name] ?? []);
    return rows.length > 0 && isWanted(table.name) ? [{ ...table, rows }] : [];
  });
}

type Intern = (text: string) => number;

/** The machine, its processes, and what was captured beside events: much of it nobody else's business. */
function targetRows(scenario: Scenario, schema: NsysSchema, id: Intern): Record<string, readonly Row[]> {
  const { processes, gpus, utcEpochNs, durationNs, systemClockNs, hostname } = scenario;
  const utc = new Date(Number(utcEpochNs / 1_000_000n)).toISOString().slice(0, 19);
  const environment = (name: string, nameEnum: number, value: Cell): Row => ({
    globalVid: VM,
    devStateName: 'Local (CLI)',
    name,
    nameEnum,
    value,
  });
  const startTime = schema === '3.28' ? systemClockNs : 371_204_118;
  return {
    ProcessStreams: processes.map(({ pid }) => ({
      globalPid: globalPid(pid),
      filenameId: id(`/tmp/nvidia/nsight_systems/streams/pid_${pid}_stdout.log`),
      contentId: id(scenario.output),
    })),
    TARGET_INFO_SYSTEM_ENV: [
      environment('Hostname', 619, hostname),
      environment('NvDriverVersion', 205, '570.124.6'),
      environment('DeviceEnvironment', 610, scenario.deviceEnvironment),
      // Releases of 2022 wrote bytes here that are no UTF-8.
      environment('GpuInfo', 897, schema === '2.9' ? { raw: Uint8Array.of(0x7b, 0xff, 0xfe, 0x80, 0x7d) } : '{}'),
    ],
    TARGET_INFO_SESSION_START_TIME: [
      { utcEpochNs, utcTime: utc, localTime: utc, systemClockNs, sessionStartCntVctNs: systemClockNs + 17 },
    ],
    // A trap: another clock, and adding it moves everything.
    ANALYSIS_DETAILS: [{ globalVid: VM, duration: durationNs, startTime, stopTime: startTime + durationNs }],
    PROCESSES: processes.map(({ pid, name }) => ({ globalPid: globalPid(pid), pid, name })),
    ThreadNames: processes.flatMap(({ pid, threads }) =>
      threads.flatMap(({ tid, name }) =>
        name === null ? [] : [{ nameId: id(name), priority: 20, globalTid: globalTid(pid, tid) }],
      ),
    ),
    TARGET_INFO_GPU: gpus.map((gpu) => ({
      vmId: VM,
      id: gpu.id,
      name: gpu.name,
      busLocation: gpu.busLocation,
      isDiscrete: 1,
      totalMemory: gpu.totalBytes,
      memoryBandwidth: 3_352_320_000_000,
      smCount: 132,
      pwGpuId: gpu.id,
      uuid: gpu.uuid,
      chipName: 'GH100',
      cuDevice: gpu.id,
      threadsPerWarp: 32,
      computeMajor: 9,
      computeMinor: 0,
      numaNodeId: gpu.id,
    })),
    TARGET_INFO_CUDA_DEVICE: processes.flatMap(({ pid }) =>
      gpus.map((gpu) => ({ gpuId: gpu.id, cudaId: gpu.id, pid, uuid: gpu.uuid, numMultiprocessors: 132 })),
    ),
    TARGET_INFO_CUDA_CONTEXT_INFO: processes.map(({ pid, device }) => ({
      nullStreamId: 7,
      hwId: 0,
      vmId: 1,
      processId: pid,
      deviceId: device,
      contextId: 1,
      parentContextId: 0,
      isGreenContext: 0,
    })),
    TARGET_INFO_CUDA_NULL_STREAM: processes.map(({ pid, device }) => ({
      streamId: 7,
      hwId: 0,
      vmId: 1,
      processId: pid,
      deviceId: device,
      contextId: 1,
    })),
  };
}

interface OnGpu {
  readonly pid: number;
  readonly device: number;
  readonly stream: number;
  readonly correlation: number;
  readonly startNs: number;
  readonly endNs: number;
}

function eventRows(
  scenario: Scenario,
  schema: NsysSchema,
  id: Intern,
  at: (ns: number) => bigint,
): Record<string, readonly Row[]> {
  const { recording } = scenario;
  const span = ({ startNs, endNs }: Pick<ApiCall, 'startNs' | 'endNs'>): Row => ({
    start: at(startNs),
    end: at(endNs),
  });
  const onGpu = (work: OnGpu): Row => ({
    ...span(work),
    deviceId: work.device,
    contextId: 1,
    greenContextId: 0,
    streamId: work.stream,
    correlationId: work.correlation,
    globalPid: globalPid(work.pid),
  });
  const poolState = (pool: PoolState | null): Row => ({
    localMemoryPoolReleaseThreshold: pool?.thresholdBytes,
    localMemoryPoolSize: pool?.bytes,
    localMemoryPoolUtilizedSize: pool?.usedBytes,
  });
  const library = (name: 'cublas' | 'cudnn', eventClass: number): Row[] =>
    recording.library
      .filter((call) => call.library === name)
      .map((call) => ({
        ...span(call),
        eventClass,
        globalTid: globalTid(call.pid, call.tid),
        nameId: id(call.name),
      }));
  const hasCallChains = schema === '3.28';
  return {
    CUPTI_ACTIVITY_KIND_RUNTIME: recording.api.map((call) => ({
      ...span(call),
      eventClass: call.isDriver ? 1 : 0,
      globalTid: globalTid(call.pid, call.tid),
      correlationId: call.correlation,
      nameId: id(call.name),
      returnValue: call.returnValue,
      callchainId: hasCallChains ? call.callchain : null,
    })),
    CUDA_GPU_MEMORY_USAGE_EVENTS: recording.memory.map((event) => ({
      start: at(event.startNs),
      globalPid: globalPid(event.pid),
      deviceId: event.device,
      contextId: 1,
      address: event.address,
      pc: event.pc,
      bytes: event.bytes,
      memKind: KIND_NUMBERS[event.kind],
      memoryOperationType: event.isFree ? 1 : 0,
      name: event.name,
      correlationId: event.correlation,
      streamId: event.stream,
      localMemoryPoolAddress: event.pool?.address,
      ...poolState(event.pool),
    })),
    CUDA_GPU_MEMORY_POOL_EVENTS: recording.pool.map((event) => ({
      start: at(event.startNs),
      globalPid: globalPid(event.pid),
      deviceId: event.device,
      address: event.pool.address,
      operationType: event.operation,
      poolType: 1,
      correlationId: event.correlation,
      minBytesToKeep: event.minBytesToKeep,
      ...poolState(event.pool),
    })),
    CUPTI_ACTIVITY_KIND_KERNEL: recording.kernels.map((kernel, i) => ({
      ...onGpu(kernel),
      demangledName: id(kernel.demangledName),
      shortName: id(kernel.shortName),
      launchType: 1,
      cacheConfig: 1,
      registersPerThread: kernel.registers,
      gridX: kernel.grid[0],
      gridY: kernel.grid[1],
      gridZ: kernel.grid[2],
      blockX: kernel.block[0],
      blockY: kernel.block[1],
      blockZ: kernel.block[2],
      staticSharedMemory: 0,
      dynamicSharedMemory: 0,
      localMemoryPerThread: kernel.localBytesPerThread,
      localMemoryTotal: kernel.localBytesPerThread * 132 * 2048,
      gridId: i + 1,
      sharedMemoryExecuted: 8192,
      tensorSizeMinusOneElements: '',
    })),
    CUPTI_ACTIVITY_KIND_MEMCPY: recording.copies.map((copy) => ({
      ...onGpu(copy),
      bytes: copy.bytes,
      copyKind: copy.copyKind,
      srcKind: KIND_NUMBERS[copy.sourceKind],
      dstKind: KIND_NUMBERS[copy.targetKind],
      srcDeviceId: copy.sourceDevice,
      srcContextId: copy.sourceDevice === null ? null : 1,
      dstDeviceId: copy.targetDevice,
      dstContextId: copy.targetDevice === null ? null : 1,
      copyCount: 1,
    })),
    CUPTI_ACTIVITY_KIND_MEMSET: recording.memsets.map((memset) => ({
      ...onGpu(memset),
      value: memset.value,
      bytes: memset.bytes,
      memKind: KIND_NUMBERS.device,
    })),
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: recording.syncs.map((sync) => ({
      ...onGpu(sync),
      syncType: sync.syncType,
      eventId: sync.event,
    })),
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE: recording.graphs.map((graph) => ({
      ...onGpu(graph),
      graphId: graph.graph,
      graphExecId: graph.graphExec,
    })),
    NVTX_EVENTS: recording.nvtx.map((event) => ({
      start: at(event.startNs),
      end: event.endNs === null ? null : at(event.endNs),
      eventType: event.type,
      rangeId: event.rangeId,
      text: event.isRegistered && event.type !== NVTX.domain ? null : event.text,
      textId: event.isRegistered && event.type !== NVTX.domain ? id(event.text) : null,
      globalTid: globalTid(event.pid, event.tid),
      endGlobalTid: event.endTid === null ? null : globalTid(event.pid, event.endTid),
      domainId: event.domain,
    })),
    CUBLAS_EVENTS: library('cublas', 29),
    CUDNN_EVENTS: library('cudnn', 28),
    CUDA_CALLCHAINS: hasCallChains
      ? recording.frames.map((frame) => ({
          id: frame.callchain,
          symbol: id(frame.symbol),
          module: id(frame.module),
          unresolved: frame.isUnresolved ? 1 : 0,
          originalIP: 0x7ec0_0000_0000 + frame.callchain * 0x1000 + frame.depth * 16,
          stackDepth: frame.depth,
        }))
      : [],
    DIAGNOSTIC_EVENT: recording.diagnostics.map((diagnostic) => ({
      timestamp: at(diagnostic.startNs),
      timestampType: 2,
      source: 3,
      severity: diagnostic.severity,
      text: diagnostic.text,
      globalPid: diagnostic.pid === null ? null : globalPid(diagnostic.pid),
    })),
  };
}

function metaRows(scenario: Scenario, schema: NsysSchema, options: ExportOptions): Record<string, readonly Row[]> {
  const { collectsMemory = true, isNormalized = false, timeShiftNs = 0, tables = [] } = options;
  const { environment, utcEpochNs } = scenario;
  const { version, product } = RELEASES[schema];
  const [major, minor, micro] = version.split('.');
  const home = environment['HOME']!;
  const exported = new Date(Number(utcEpochNs / 1_000_000n) + 3_600_000).toISOString().slice(0, 19);
  const facts = {
    EXPORT_PRODUCT_NAME: 'NVIDIA Nsight Systems',
    EXPORT_PRODUCT_VERSION: product,
    EXPORT_SCHEMA_VERSION: version,
    EXPORT_SCHEMA_VERSION_MAJOR: major,
    EXPORT_SCHEMA_VERSION_MINOR: minor,
    EXPORT_SCHEMA_VERSION_MICRO: micro,
    EXPORT_PLATFORM: 'linux-desktop',
    EXPORT_TIME_UTC: exported,
    EXPORT_HOST: 'planted-laptop',
    EXPORT_USER: 'planted-user',
  };
  const pairs = (entries: Readonly<Record<string, string | undefined>>): Row[] =>
    Object.entries(entries).map(([name, value]) => ({ name, value }));
  if (schema === '2.9') {
    const place = { EXPORT_INPUT_FILE: 'planted.nsys-rep', EXPORT_INPUT_PATH_ABS: `${home}/planted.nsys-rep` };
    return { EXPORT_META_DATA: pairs({ ...facts, ...place, EXPORT_LAZY: 'true' }) };
  }
  const collected = String(collectsMemory);
  const ofProcess = [
    { name: 'PROCESS_0:COMMAND', value: '/opt/venv/bin/torchrun' },
    { name: 'PROCESS_0:WORKING_DIR', value: home },
    { name: 'PROCESS_0:USER_NAME', value: 'planted-user' },
    ...Object.entries(environment).map(([name, value]) => ({
      name: 'PROCESS_0:ENVIRONMENT_VARIABLE',
      value: `${name}=${value}`,
    })),
    { name: 'PROCESS_0:COLLECT_GPU_MEMORY_USAGE', value: collected },
  ];
  const graphs = 'CUDA_GRAPH_TRACE_OPTIONS:MODE';
  return {
    META_DATA_EXPORT: pairs({
      ...facts,
      EXPORT_PARAM_INPUT_FILE: 'planted.nsys-rep',
      EXPORT_PARAM_INPUT_PATH_ABS: `${home}/planted.nsys-rep`,
      EXPORT_PARAM_LAZY: 'true',
      EXPORT_PARAM_TIME_NORMALIZE: String(isNormalized),
      EXPORT_PARAM_TIME_SHIFT: String(timeShiftNs),
      EXPORT_PARAM_TABLES_TO_EXPORT: tables.join(','),
      EXPORT_PARAM_TIMES_TO_EXPORT: '',
      EXPORT_CONFIG_TIME_SHIFT: '0',
    }),
    // Releases of 2024 say it of the launched process only.
    META_DATA_CAPTURE:
      schema === '3.16'
        ? [...ofProcess, { name: `PROCESS_0:${graphs}`, value: 'Graph' }]
        : [
            { name: graphs, value: 'Graph' },
            { name: 'CUDA_SKIP_SOME_API_CALLS', value: 'true' },
            { name: 'COLLECT_GPU_MEMORY_USAGE', value: collected },
            ...ofProcess,
          ],
  };
}

/** Labels of documented numbers. Symbolic names differ from the exporter's: nothing may depend on them. */
const enumeration = (labels: Readonly<Record<number, string>>): Row[] =>
  Object.entries(labels).map(([id, label]) => ({
    id: Number(id),
    name: label.toUpperCase().replaceAll(/[^A-Z]/g, '_'),
    label,
  }));
const listed = (labels: readonly string[]): Row[] => enumeration(Object.fromEntries(labels.entries()));

const ENUMERATIONS: Readonly<Record<string, readonly Row[]>> = {
  ENUM_NSYS_EVENT_TYPE: enumeration({
    [NVTX.mark]: 'NVTX mark',
    [NVTX.pushPop]: 'NVTX push/pop range',
    [NVTX.startEnd]: 'NVTX start/end range',
    [NVTX.domain]: 'NVTX domain create',
  }),
  ENUM_CUDA_MEMCPY_OPER: enumeration({
    [COPY.hostToDevice]: 'Host-to-Device',
    [COPY.deviceToHost]: 'Device-to-Host',
    [COPY.deviceToDevice]: 'Device-to-Device',
    [COPY.peerToPeer]: 'Peer-to-Peer',
  }),
  ENUM_CUDA_MEM_KIND: listed([
    'Pageable',
    'Pinned',
    'Device',
    'Array',
    'Managed',
    'Device Static',
    'Managed Static',
    'Unknown',
  ]),
  ENUM_CUDA_MEMPOOL_TYPE: listed(['Invalid', 'Local', 'Imported']),
  ENUM_CUDA_MEMPOOL_OPER: listed(['Invalid', 'Created', 'Destroyed', 'Trimmed']),
  ENUM_CUDA_DEV_MEM_EVENT_OPER: listed(['Allocation', 'Deallocation']),
  ENUM_CUPTI_SYNC_TYPE: listed(['Unknown', 'Event sync', 'Stream wait sync', 'Stream sync', 'Context sync']),
  ENUM_DIAGNOSTIC_SEVERITY_LEVEL: listed(['Unknown', 'Info', 'Warning', 'Error']),
  // A negative rowid.
  ENUM_GPU_CTX_SWITCH: [{ id: -1, name: 'UNKNOWN', label: 'Unknown' }, ...listed(['Start'])],
};

const ROWS_PER_INSERT = 250;

function exportSql(tables: readonly Table[], { pageBytes, leavesWal = false }: ExportOptions): string {
  const statements = [
    'PRAGMA synchronous=OFF;',
    ...(pageBytes === undefined ? [] : [`PRAGMA page_size=${pageBytes};`]),
  ];
  statements.push('BEGIN;', ...tables.map(({ ddl }) => ddl));
  const isLate = ({ name }: Table): boolean => leavesWal && name === WAL_TABLE;
  statements.push(...tables.filter((table) => !isLate(table)).flatMap(inserts), 'COMMIT;');
  if (leavesWal) {
    // Without these the program would empty the log when it closes the file.
    statements.push('PRAGMA journal_mode=WAL;', 'PRAGMA wal_autocheckpoint=0;', '.dbconfig no_ckpt_on_close on');
    statements.push('BEGIN;', ...tables.filter(isLate).flatMap(inserts), 'COMMIT;');
  }
  return `${statements.join('\n')}\n`;
}

/** Every column that any schema has: a row may have more than this schema's, but no name that none knows. */
const KNOWN_COLUMNS = new Set(
  NSYS_SCHEMAS.flatMap((schema) =>
    [...declaredTables(RELEASES[schema].ddl).values()].flatMap(({ columns }) => columns),
  ),
);

function inserts({ name, columns, rows }: Table): string[] {
  const statements: string[] = [];
  for (let first = 0; first < rows.length; first += ROWS_PER_INSERT) {
    const values = rows.slice(first, first + ROWS_PER_INSERT).map((row) => {
      for (const key of Object.keys(row)) if (!KNOWN_COLUMNS.has(key)) throw new Error(`${name} has no column ${key}`);
      return `(${columns.map((column) => literal(row[column])).join(',')})`;
    });
    statements.push(`INSERT INTO ${name} VALUES\n${values.join(',\n')};`);
  }
  return statements;
}

function literal(cell: Cell): string {
  if (cell === null || cell === undefined) return 'NULL';
  if (typeof cell === 'string') return `'${cell.replaceAll("'", "''")}'`;
  if (typeof cell === 'object') return `CAST(x'${Buffer.from(cell.raw).toString('hex')}' AS TEXT)`;
  return String(cell);
}
