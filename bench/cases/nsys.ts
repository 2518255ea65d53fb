import { execFileSync } from 'node:child_process';
import { formatCount, MIB } from '../../src/model/units.js';
import { type BenchContext, type Case, runCli, Skip, withFreshStore } from '../case.js';
import { nsysInput } from '../inputs.js';
import { alternate, type Sample } from '../measure.js';
import { DOMAIN_ROWS, nsysCounts } from '../nsys-export.js';
import { type Bar, type Group, PEAK_RSS } from '../report.js';

const OURS = 'mbforensics ingest';
const SQLITE3 = 'sqlite3 to CSV';

const MEMORY_LIMIT_MIB = 256;
const RSS_BAR: Bar = { of: PEAK_RSS, limit: (MEMORY_LIMIT_MIB + 250) * MIB };
/** At least half of sqlite3's rows per second. */
const TIME_BAR: Bar = { of: SQLITE3, limit: 2 };
/** With fewer kernels, process start-up decides. */
const TIME_BAR_FROM = 1_000_000;

interface MeasuredTable {
  readonly table: string;
  /** What `ingest` reads of it. */
  readonly columns: string;
  readonly storedAs: string;
}

const TABLES: readonly MeasuredTable[] = [
  {
    table: 'CUPTI_ACTIVITY_KIND_KERNEL',
    columns:
      'start, end, globalPid, deviceId, contextId, streamId, correlationId, shortName, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, ' +
      'registersPerThread, localMemoryTotal, graphNodeId',
    storedAs: 'nsys_kernel',
  },
  {
    table: 'CUPTI_ACTIVITY_KIND_RUNTIME',
    columns: 'start, end, globalTid, correlationId, nameId, returnValue, eventClass, callchainId',
    storedAs: 'nsys_api',
  },
  {
    table: 'NVTX_EVENTS',
    columns: 'start, end, eventType, globalTid, endGlobalTid, domainId, rangeId, category, text, textId',
    storedAs: 'nsys_nvtx',
  },
  { table: 'CUDA_GPU_MEMORY_USAGE_EVENTS', columns: '*', storedAs: 'nsys_memory' },
];

/**
 * An export of Nsight Systems, from file to queryable store, against the `sqlite3` program writing the same columns as
 * CSV.
 */
export const nsysCase: Case = {
  name: 'nsys',
  async *run(context) {
    const version = requireSqlite3();
    for (const events of context.events) yield await measure(context, events, version);
  },
};

/** @throws {Skip} without the program, which also makes the input. */
function requireSqlite3(): string {
  try {
    return execFileSync('sqlite3', ['--version'], { encoding: 'utf8' }).split(' ')[0]!;
  } catch {
    throw new Skip('sqlite3 was not found');
  }
}

async function measure(context: BenchContext, kernels: number, sqliteVersion: string): Promise<Group> {
  const { file, bytes } = await nsysInput(context, kernels);
  // Untimed: brings both programs into the page cache and shows that the work is really done.
  const expected = await sumsOfExport(context, file);
  await withFreshStore(context, async (db) => {
    await ingest(context, file, db);
    const stored = await sumsOfStore(context, db);
    if (stored !== expected)
      throw new Error(`rows and sums of start: the export has\n${expected}\nthe store\n${stored}`);
  });
  const samples = await alternate(
    [
      () => withFreshStore(context, async (db) => ({ [OURS]: await ingest(context, file, db) })),
      () => withFreshStore(context, async (db) => ({ [SQLITE3]: await dump(context, file, `${db}.csv`) })),
    ],
    context.repeat,
    context.progress,
  );
  const { apiCalls, ranges, memoryEvents } = nsysCounts(kernels);
  const rows = kernels + apiCalls + ranges + DOMAIN_ROWS + memoryEvents;
  const work = { bytes, events: rows };
  return {
    case: 'nsys',
    title: `Nsight Systems export of ${formatCount(rows)} rows (${formatCount(kernels)} kernels), ${(bytes / 1e6).toFixed(1)} MB`,
    baselines: [SQLITE3],
    samples,
    work: { [OURS]: work, [SQLITE3]: work },
    bars: { [OURS]: kernels >= TIME_BAR_FROM ? [TIME_BAR, RSS_BAR] : [RSS_BAR] },
    notes: [
      `whole processes, in turn; ours with --memory-limit ${MEMORY_LIMIT_MIB}MiB; sqlite3 ${sqliteVersion} writes the columns that ours reads to a file on the same disk`,
      'events are rows of the four large tables',
    ],
  };
}

async function ingest(context: BenchContext, file: string, db: string): Promise<Sample> {
  const limit = ['--memory-limit', `${MEMORY_LIMIT_MIB}MiB`];
  const { seconds, peakRssBytes } = await runCli(context, ['ingest', file, '--db', db, ...limit, '--quiet']);
  return { seconds, peakRssBytes };
}

async function dump(context: BenchContext, file: string, csv: string): Promise<Sample> {
  const statements = TABLES.map(({ table, columns }) => `SELECT ${columns} FROM ${table};`);
  const { seconds, peakRssBytes } = await context.timer.run('sqlite3', [
    '-readonly',
    '-csv',
    file,
    `.output '${csv}'`,
    ...statements,
  ]);
  return { seconds, peakRssBytes };
}

/** Rows and sum of start of each table, one per line: a fast ingest that loses rows is not a result. */
async function sumsOfExport(context: BenchContext, file: string): Promise<string> {
  const { stdout } = await context.timer.run('sqlite3', ['-readonly', '-csv', file, sums('table', 'start')]);
  return stdout.trim();
}

async function sumsOfStore(context: BenchContext, db: string): Promise<string> {
  const statement = sums('storedAs', 'start_ns');
  const { stdout } = await runCli(context, ['sql', statement, '--format', 'csv', '--db', db]);
  return stdout.trim().split('\n').slice(1).join('\n');
}

function sums(name: 'table' | 'storedAs', start: string): string {
  return TABLES.map((one, at) => `SELECT ${at} AS ordinal, count(*) AS n, sum(${start}) AS total FROM ${one[name]}`)
    .join(' UNION ALL ')
    .concat(' ORDER BY ordinal');
}
