/**
 * A training step as Nsight Systems exports it, written by the `sqlite3` program from the documented schema: tables and
 * columns of 3.28.1, of which only what a PyTorch run on two GPUs fills is filled. Deterministic: nothing is drawn,
 * what looks like noise is computed from the row's number.
 */

import { definition, tablesOf } from '../samples/generate/write/nsys/database.js';

export interface NsysCounts {
  readonly kernels: number;
  readonly apiCalls: number;
  readonly ranges: number;
  readonly memoryEvents: number;
}

/**
 * In the proportions of a step: a third as many NVTX ranges as kernels, an API call each, and now and then the driver
 * is asked for memory.
 */
export function nsysCounts(kernels: number): NsysCounts {
  return {
    kernels,
    apiCalls: kernels,
    ranges: Math.floor(kernels / 3),
    memoryEvents: Math.floor(kernels / 15),
  };
}

/** Rows of NVTX_EVENTS that are not ranges: each process names NCCL's domain once. */
export const DOMAIN_ROWS = 2;

/** One process launches a kernel every so many ns; the other does so, too, a little later. */
const PACE_NS = 20_000;
const KERNEL_NAMES = 2000;
const SHORT_NAMES = 400;
const RANGE_TEXTS = 300;
const API_NAMES = [
  'cudaLaunchKernel_v7000',
  'cudaLaunchKernelExC_v11060',
  'cudaGraphLaunch_v10000',
  'cudaMalloc_v3020',
  'cudaFree_v3020',
  'cudaMallocAsync_v11020',
  'cudaFreeAsync_v11020',
  'cudaEventRecordWithFlags_v11010',
  'cudaStreamWaitEvent_v3020',
];
const OPERATORS = ['mm', 'view', 'add_', 'empty_strided', 'copy_', 'layer_norm', 'transpose', 'bmm'];
const COLLECTIVES = ['ncclAllReduce', 'ncclReduceScatter', 'ncclAllGather', 'ncclGroupStart', 'ncclSend', 'ncclRecv'];

/** The first text of each kind; ids are dense. */
const DEMANGLED = 1;
const MANGLED = DEMANGLED + KERNEL_NAMES;
const SHORT = MANGLED + KERNEL_NAMES;
const API = SHORT + SHORT_NAMES;
const RANGE = API + API_NAMES.length;
const DOMAIN = RANGE + RANGE_TEXTS;

/** `p` is the process of a row (0 or 1) and `q` its number among the rows of that process. */
const GLOBAL_PID = '(281474976710656 + (4242 + p) * 16777216)';
const globalTid = (row: string): string =>
  `(${GLOBAL_PID} + 4242 + p + CASE WHEN ${row} / 7500 % 3 = 2 THEN 60 ELSE 0 END)`;
/** 0 to 1023, without a pattern that one would see. */
const noise = (salt: number): string => `((i * 2654435761 + ${salt}) >> 9 & 1023)`;

/**
 * Every 15 rows of a process: 11 launches of one kernel, one of a graph of four, one call for memory, two calls that
 * give the device nothing to do.
 */
const GRAPH_LAUNCH = 11;
const MEMORY_CALL = 12;
const EVENT_RECORD = 13;
const FIRST_CORRELATION = 1000;

/** Tables of which a run on two GPUs fills rows. */
const TABLES = new Set([
  ...['StringIds', 'META_DATA_CAPTURE', 'META_DATA_EXPORT', 'TARGET_INFO_SESSION_START_TIME', 'ANALYSIS_DETAILS'],
  ...['TARGET_INFO_GPU', 'TARGET_INFO_CUDA_DEVICE', 'PROCESSES', 'DIAGNOSTIC_EVENT', 'CUPTI_ACTIVITY_KIND_KERNEL'],
  ...['CUPTI_ACTIVITY_KIND_RUNTIME', 'NVTX_EVENTS', 'CUDA_GPU_MEMORY_USAGE_EVENTS'],
]);

/** The statements that make the file. */
export function nsysExportSql(kernels: number): string {
  const counts = nsysCounts(kernels);
  return [
    // No journal: a file that is not finished is thrown away.
    'PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;',
    ...tablesOf('3.28')
      .filter(({ name }) => TABLES.has(name))
      .map((table) => definition(table, '3.28')),
    'BEGIN;',
    facts(kernels),
    texts(),
    apiCalls(counts.apiCalls),
    kernelRuns(counts.kernels),
    ranges(counts.ranges),
    memoryEvents(counts.memoryEvents),
    'COMMIT;',
  ].join('\n');
}

/** `i` from 0, and with it `p` and `q`. Recursive: not every build of sqlite3 has generate_series. */
function numbers(count: number): string {
  return `WITH RECURSIVE number(i) AS (SELECT 0 WHERE ${count} > 0 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < ${count}),
row AS (SELECT i, i & 1 AS p, i >> 1 AS q FROM number)`;
}

function facts(kernels: number): string {
  const durationNs = (kernels / 2 + 100) * PACE_NS;
  const gpu = (id: number): string =>
    `(1, ${id}, 'NVIDIA H100 80GB HBM3', '0000:${id + 1}9:00.0', 1, 52428800, 85029158912, 3352320000000, 1980000, 132, 'GPU-0000000${id}-0000-0000-0000-000000000000', 'GH100', ${id}, 9, 0)`;
  return `INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight Systems'), ('EXPORT_PRODUCT_VERSION', '2026.4.1.100'),
  ('EXPORT_SCHEMA_VERSION', '3.28.1'), ('EXPORT_SCHEMA_VERSION_MAJOR', '3'), ('EXPORT_SCHEMA_VERSION_MINOR', '28'), ('EXPORT_SCHEMA_VERSION_MICRO', '1'),
  ('EXPORT_PARAM_EXPORT_TYPE', 'SQLite'), ('EXPORT_PARAM_LAZY', 'true'), ('EXPORT_PARAM_TIME_NORMALIZE', 'false'), ('EXPORT_PARAM_TIME_SHIFT', '0'),
  ('EXPORT_PARAM_TABLES_TO_EXPORT', ''), ('EXPORT_PARAM_TIMES_TO_EXPORT', ''), ('EXPORT_CONFIG_TIME_SHIFT', '0');
INSERT INTO META_DATA_CAPTURE VALUES ('CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Node'), ('COLLECT_GPU_MEMORY_USAGE', 'true'), ('CUDA_SKIP_SOME_API_CALLS', 'true');
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1795300000123456789, '2026-11-21T08:26:40', '2026-11-21T08:26:40', 35255823190, NULL);
INSERT INTO ANALYSIS_DETAILS VALUES (281474976710656, ${durationNs}, 35255823190, ${35_255_823_190 + durationNs});
INSERT INTO TARGET_INFO_GPU (vmId, id, name, busLocation, isDiscrete, l2CacheSize, totalMemory, memoryBandwidth, clockRate, smCount, uuid, chipName, cuDevice, computeMajor, computeMinor)
  VALUES ${gpu(0)}, ${gpu(1)};
INSERT INTO TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid, uuid) VALUES
  (0, 0, 4242, 'GPU-00000000-0000-0000-0000-000000000000'), (1, 1, 4243, 'GPU-00000001-0000-0000-0000-000000000000');
INSERT INTO PROCESSES SELECT ${GLOBAL_PID}, 4242 + p, 'python3' FROM (SELECT 0 AS p UNION ALL SELECT 1);
INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 1, 1, 'Profiling has started.', NULL);`;
}

/** Kernel names of 80 to 400 characters: templates of templates. */
function texts(): string {
  const repeated = (times: string, text: string): string => `replace(hex(zeroblob(${times})), '00', '${text}')`;
  return `INSERT INTO StringIds VALUES (0, '');
${numbers(KERNEL_NAMES)} INSERT INTO StringIds SELECT ${DEMANGLED} + i,
  'void at::native::kernel_' || (i % ${SHORT_NAMES}) || '<(int)' || (1 << i % 5) || ', at::native::Functor_' || i || '<float>, std::array<char *, (unsigned long)' || (1 + i % 3) || '>' ||
  ${repeated('i % 9', ', c10::detail::Loop<c10::BFloat16>')} || '>(int, T2, T3)' FROM row;
${numbers(KERNEL_NAMES)} INSERT INTO StringIds SELECT ${MANGLED} + i,
  '_ZN2at6native' || (7 + length((i % ${SHORT_NAMES}))) || 'kernel_' || (i % ${SHORT_NAMES}) || 'ILi' || (1 << i % 5) || 'ENS0_' || i || 'FunctorIfEESt5arrayIPcLm3EE' ||
  ${repeated('i % 9', 'N3c106detail4LoopINS_8BFloat16EEE')} || 'EEviT0_T1_' FROM row;
${numbers(SHORT_NAMES)} INSERT INTO StringIds SELECT ${SHORT} + i, 'kernel_' || i FROM row;
INSERT INTO StringIds VALUES ${API_NAMES.map((name, at) => `(${API + at}, '${name}')`).join(', ')};
${numbers(RANGE_TEXTS)} INSERT INTO StringIds SELECT ${RANGE} + i, ${pick(COLLECTIVES, 'i')} || CASE WHEN i < ${COLLECTIVES.length} THEN '' ELSE ' group ' || i END FROM row;
INSERT INTO StringIds VALUES (${DOMAIN}, 'NCCL');`;
}

function pick(names: readonly string[], number: string): string {
  return `CASE ${number} % ${names.length} ${names.map((name, at) => `WHEN ${at} THEN '${name}'`).join(' ')} END`;
}

const API_START = `q * ${PACE_NS} + p * 1700 + ${noise(0)}`;

function apiCalls(count: number): string {
  const name = (text: (typeof API_NAMES)[number]): number => API + API_NAMES.indexOf(text);
  // As the memory events below: every other call allocates, one pair in eight from a pool.
  const memory = `CASE WHEN q / 15 / 2 % 8 = 7 THEN ${name('cudaMallocAsync_v11020')} ELSE ${name('cudaMalloc_v3020')} END + q / 15 % 2`;
  return `${numbers(count)} INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
SELECT ${API_START}, ${API_START} + 2300 + ${noise(1)} * (1 + q % 7), 0, ${globalTid('q')}, ${FIRST_CORRELATION} + q,
  CASE q % 15 WHEN ${GRAPH_LAUNCH} THEN ${name('cudaGraphLaunch_v10000')} WHEN ${MEMORY_CALL} THEN ${memory} WHEN ${EVENT_RECORD} THEN ${name('cudaEventRecordWithFlags_v11010')}
    WHEN ${EVENT_RECORD + 1} THEN ${name('cudaStreamWaitEvent_v3020')} WHEN 3 THEN ${name('cudaLaunchKernelExC_v11060')} ELSE ${name('cudaLaunchKernel_v7000')} END, 0, NULL
FROM row;`;
}

function kernelRuns(count: number): string {
  const isOfGraph = `q % 15 >= ${GRAPH_LAUNCH}`;
  const kernel = `((q * 37 + q / 1500) % ${KERNEL_NAMES})`;
  return `${numbers(count)} INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
SELECT ${API_START} + 8000, ${API_START} + 9100 + ${noise(2)} * (1 + q % 10), p, 1, NULL, CASE WHEN q % 15 = 5 THEN 20 ELSE 7 END,
  ${FIRST_CORRELATION} + CASE WHEN ${isOfGraph} THEN q / 15 * 15 + ${GRAPH_LAUNCH} ELSE q END, ${GLOBAL_PID},
  ${DEMANGLED} + ${kernel}, ${SHORT} + ${kernel} % ${SHORT_NAMES}, ${MANGLED} + ${kernel}, 1, 1,
  32 + 8 * (${kernel} % 25), 1 + ${noise(3)} * (1 + q % 5), 1 + q % 8, 1, 128 << q % 3, 1, 1,
  CASE q % 4 WHEN 0 THEN 0 ELSE 1024 * (q % 48) END, CASE q % 7 WHEN 0 THEN 98304 ELSE 0 END, 0, 250871808, q, 32768,
  CASE WHEN ${isOfGraph} THEN 4294967296 + q / 15 % 500 * 4 + q % 15 END, 0, NULL, NULL, NULL, CASE WHEN ${isOfGraph} THEN 17 END, 0, 0, 0, 1, 0, 0, NULL, '[]'
FROM row;`;
}

/**
 * An operator of PyTorch spells its name in the row, with its number; the collective inside it has a registered text.
 */
function ranges(count: number): string {
  const start = `q * ${3 * PACE_NS} + p * 1700 + ${noise(4)}`;
  const isOperator = 'q % 2 = 0';
  const isStartEnd = 'q % 20 = 19';
  return `INSERT INTO NVTX_EVENTS (start, eventType, textId, globalTid, domainId)
  SELECT -1000000 + p, 75, ${DOMAIN}, ${globalTid('0')}, 1 FROM (SELECT 0 AS p UNION ALL SELECT 1);
${numbers(count)} INSERT INTO NVTX_EVENTS (start, end, eventType, rangeId, category, text, globalTid, endGlobalTid, textId, domainId)
SELECT ${start}, ${start} + CASE WHEN ${isOperator} THEN 100000 ELSE 30000 END + ${noise(5)}, CASE WHEN ${isStartEnd} THEN 60 ELSE 59 END,
  CASE WHEN ${isStartEnd} THEN q END, CASE WHEN ${isOperator} THEN NULL ELSE 0 END,
  CASE WHEN ${isOperator} THEN 'aten::' || ${pick(OPERATORS, '(q / 2)')} || ', op_id = ' || (q / 2 * 2 + p) END,
  ${globalTid('(q * 3)')}, CASE WHEN ${isStartEnd} THEN ${globalTid('0')} END,
  CASE WHEN ${isOperator} THEN NULL ELSE ${RANGE} + q * 31 % ${RANGE_TEXTS} END, CASE WHEN ${isOperator} THEN 0 ELSE 1 END
FROM row;`;
}

/**
 * Allocation, deallocation, allocation, …: each gives back what was allocated 32 allocations before. The first 32 give
 * back what was allocated before the collection began.
 */
function memoryEvents(count: number): string {
  const block = '(q / 2 - 32 * (q % 2))';
  const isPool = `(q / 2 % 8 = 7)`;
  // Addresses are used again after 64 allocations; none before the collection began overlaps them.
  const address = `140187732541440 + (${block} + 64) % 64 * 268435456 + CASE WHEN ${block} < 0 THEN 17179869184 ELSE 0 END`;
  const bytes = `2097152 * (1 + (${block} + 64) * 7919 % 100)`;
  const ofPool = (value: string): string => `CASE WHEN ${isPool} THEN ${value} END`;
  return `${numbers(count)} INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS
SELECT (q * 15 + ${MEMORY_CALL}) * ${PACE_NS} + p * 1700 + 2100, ${GLOBAL_PID}, p, 1, ${address}, 139637976727552 + q % 97 * 16, ${bytes}, 2, q % 2, NULL,
  ${FIRST_CORRELATION} + q * 15 + ${MEMORY_CALL}, ${ofPool('7')}, ${ofPool('139637976793088')}, ${ofPool('0')}, ${ofPool('8589934592')}, ${ofPool(bytes)}, NULL, NULL
FROM row;`;
}
