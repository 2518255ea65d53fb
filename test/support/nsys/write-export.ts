/** Writes a planted capture as an Nsight Systems export. */
import {
  type Capture,
  ENUMERATIONS,
  eventRows,
  exportFacts,
  exportParameters,
  globalPid,
  pairs,
  stringTable,
  targetRows,
} from '../../../samples/generate/write/nsys/capture.js';
import {
  checkTable,
  databaseSql,
  filledTables,
  hasSqlite,
  type NsysSchema,
  type Rows,
  type Table,
  writeDatabase,
} from '../../../samples/generate/write/nsys/database.js';
import type { Scenario } from './scenario.js';

export { globalPid, globalTid } from '../../../samples/generate/write/nsys/capture.js';
export { NSYS_SCHEMAS, type NsysSchema } from '../../../samples/generate/write/nsys/database.js';

export interface ExportOptions {
  /** Tables left out, as the exporter leaves out what was not captured. */
  readonly omit?: readonly string[];
  /** False: `--cuda-memory-usage` was off; no memory and pool events, and the capture has the switch as false. */
  readonly collectsMemory?: boolean;
  /** CAPTURE_EVENT_TYPE: what was to be traced; undefined: the capture does not list it. */
  readonly eventTypes?: readonly string[];
  /** `--ts-normalize=true`: all times are UTC. Not in 2.9. */
  readonly isNormalized?: boolean;
  /** `--ts-shift=`: ns added to every time. Not in 2.9. */
  readonly timeShiftNs?: number;
  /** `--tables=`: only these, and the exporter's own. Not in 2.9. */
  readonly tables?: readonly string[];
  readonly pageBytes?: number;
  /** Rows of {@link WAL_TABLE} are only in a write-ahead log next to the file. */
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

export const WAL_TABLE = 'CUDA_GPU_MEMORY_USAGE_EVENTS';
const MEMORY_TABLES = [WAL_TABLE, 'CUDA_GPU_MEMORY_POOL_EVENTS'];
/** Written whatever `--tables` selects. */
const OWN_TABLES = ['META_DATA_EXPORT', 'META_DATA_CAPTURE'];

export function writeNsysExport(
  path: string,
  scenario: Scenario,
  schema: NsysSchema,
  options: ExportOptions = {},
): WrittenExport {
  const tables = exportTables(scenario, schema, options);
  const { pageBytes, leavesWal = false } = options;
  writeDatabase(path, databaseSql(tables, { pageBytes, walTable: leavesWal ? WAL_TABLE : undefined, layout: schema }));
  return { path, schema, rows: Object.fromEntries(tables.map(({ name, rows }) => [name, rows.length])) };
}

function exportTables(scenario: Scenario, schema: NsysSchema, options: ExportOptions): Table[] {
  const { omit = [], tables, collectsMemory = true, isNormalized = false, timeShiftNs = 0 } = options;
  if (schema === '2.9' && (isNormalized || timeShiftNs !== 0 || tables !== undefined))
    throw new Error('exporters of 2.9 have no such switch');
  for (const name of [...omit, ...(tables ?? [])]) checkTable(name);
  const { id, rows: strings } = stringTable();
  const { recording, processes } = scenario;
  const offset = BigInt(timeShiftNs) + (isNormalized ? scenario.utcEpochNs : 0n);
  const capture: Capture = {
    ...scenario,
    gpus: scenario.gpus.map((gpu) => ({ ...gpu, numaNode: gpu.id })),
    systemEnvironment: [
      ['Hostname', 619, scenario.hostname],
      ['NvDriverVersion', 205, '570.124.6'],
      ['DeviceEnvironment', 610, scenario.deviceEnvironment],
      // Releases of 2022 wrote bytes here that are not UTF-8.
      ['GpuInfo', 897, schema === '2.9' ? { raw: Uint8Array.of(0x7b, 0xff, 0xfe, 0x80, 0x7d) } : '{}'],
    ],
  };
  // Only 3.28 has call chains.
  const api = schema === '3.28' ? recording.api : recording.api.map((call) => ({ ...call, callchain: null }));
  const frames = schema === '3.28' ? recording.frames : [];
  const contents: Rows = {
    ProcessStreams: processes.map(({ pid }) => ({
      globalPid: globalPid(pid),
      filenameId: id(`/tmp/nvidia/nsight_systems/streams/pid_${pid}_stdout.log`),
      contentId: id(scenario.output),
    })),
    ...targetRows(capture, id, schema === '3.28' ? scenario.systemClockNs : 371_204_118),
    ...eventRows({ ...recording, api, frames }, id, (ns) => BigInt(ns) + offset),
    ...metaRows(scenario, schema, options),
    ...(schema === '2.9' ? {} : ENUMERATIONS),
  };
  const isWanted = (name: string): boolean =>
    !omit.includes(name) &&
    (collectsMemory || !MEMORY_TABLES.includes(name)) &&
    (tables === undefined || tables.includes(name) || OWN_TABLES.includes(name));
  return filledTables(schema, { ...contents, StringIds: strings() }, isWanted);
}

function metaRows({ environment, utcEpochNs }: Scenario, schema: NsysSchema, options: ExportOptions): Rows {
  const { collectsMemory = true, eventTypes = [] } = options;
  const home = environment['HOME']!;
  const hostFields = { EXPORT_HOST: 'planted-laptop', EXPORT_USER: 'planted-user' };
  const file = (prefix: string) => ({
    [`${prefix}_INPUT_FILE`]: 'planted.nsys-rep',
    [`${prefix}_INPUT_PATH_ABS`]: `${home}/planted.nsys-rep`,
  });
  const facts = (prefix: string) => exportFacts(schema, utcEpochNs, { ...hostFields, ...file(prefix) });
  if (schema === '2.9') return { EXPORT_META_DATA: pairs({ ...facts('EXPORT'), EXPORT_LAZY: 'true' }) };
  const COLLECT_GPU_MEMORY_USAGE = String(collectsMemory);
  const variables = Object.entries(environment).map(([name, value]) => ({
    ...{ name: 'PROCESS_0:ENVIRONMENT_VARIABLE', value: `${name}=${value}` },
  }));
  const command = { 'PROCESS_0:COMMAND': '/opt/venv/bin/torchrun', 'PROCESS_0:WORKING_DIR': home };
  const ofProcess = [
    ...pairs({ ...command, 'PROCESS_0:USER_NAME': 'planted-user' }),
    ...[...variables, ...pairs({ 'PROCESS_0:COLLECT_GPU_MEMORY_USAGE': COLLECT_GPU_MEMORY_USAGE })],
  ];
  const types = eventTypes.map((value) => ({ name: 'CAPTURE_EVENT_TYPE', value }));
  const graphs = 'CUDA_GRAPH_TRACE_OPTIONS:MODE';
  const ofCapture = { [graphs]: 'Graph', CUDA_SKIP_SOME_API_CALLS: 'true', COLLECT_GPU_MEMORY_USAGE };
  return {
    META_DATA_EXPORT: pairs({
      ...{ ...facts('EXPORT_PARAM'), ...exportParameters(options), EXPORT_CONFIG_TIME_SHIFT: '0' },
    }),
    // Releases of 2024 have it for the launched process only.
    META_DATA_CAPTURE:
      schema === '3.16'
        ? [...types, ...ofProcess, ...pairs({ [`PROCESS_0:${graphs}`]: 'Graph' })]
        : [...types, ...pairs(ofCapture), ...ofProcess],
  };
}
