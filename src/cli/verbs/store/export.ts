import { mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, extname, join } from 'node:path';
import type { Moment } from '../../../derive/trace/moment.js';
import { MbfError } from '../../../model/errors.js';
import { visibleJson } from '../../../model/escape-controls.js';
import { sumOf } from '../../../model/lists.js';
import {
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportResult,
  type LiveStacks,
} from '../../../model/results/export.js';
import type { Store } from '../../../store/store.js';
import { wholeTable } from '../../../store/whole-table.js';
import type { Context } from '../../context.js';
import { defineVerb } from '../../define-verb.js';
import { openStore } from '../../open-store.js';
import { resourcesOf } from '../../operands.js';
import { CSV_RAW, flag, misuse, oneOf, operand, option, REDACT, type Values } from '../../options.js';
import type { TextSink } from '../../output-file.js';
import { type CommonOptions, demandSnapshots, type Session } from '../../session.js';
import type { Target } from '../../target.js';
import { version } from '../../version.js';

/** Names that other tools give such files, the longest first. */
const FORMAT_OF_NAME: readonly (readonly [suffix: string, format: ExportFormat])[] = [
  ['.speedscope.json', 'speedscope'],
  ['.collapsed', 'folded'],
  ['.folded', 'folded'],
  ['.parquet', 'parquet'],
  ['.svg', 'svg'],
  ['.pb.gz', 'pprof'],
  ['.json', 'snapshot-json'],
  ['.csv', 'csv'],
];

const OPTIONS = {
  as: option(
    '--as <format>',
    `one of ${EXPORT_FORMATS.join(', ')} (default: by the name of the output)`,
    oneOf(EXPORT_FORMATS),
  ),
  output: option('-o, --output <file>', 'the file to write; - or none: standard output'),
  force: flag('--force', 'replace the output if it exists'),
  at: option(
    '--at <moment>',
    'start, peak, oom, end, seq:N, time:MICROSECONDS, step:N (default: peak; snapshot-json: end)',
  ),
  device: option(
    '--device <n>',
    'a device, or all (default: the one that ran out, else the one with the largest peak; snapshot-json: all)',
  ),
  rawFrames: flag('--raw-frames', 'stacks as recorded, to their last frame of C++, and whole paths of files'),
  withState: flag(
    '--with-state',
    "folded: put stream and state in front as torch's _memory_viz.py does, and add free blocks",
  ),
  withSegments: flag('--with-segments', 'folded: --with-state by segment'),
  table: option(
    '--table <name>',
    'a table or view of the store; all: each into a file of its own in the directory --output',
  ),
  query: option('--query <select>', 'the rows of one SELECT'),
  csvRaw: CSV_RAW,
  ...REDACT,
};
type Options = Values<typeof OPTIONS> & Pick<CommonOptions, 'json'>;

export const verb = defineVerb({
  name: 'export',
  operands: {
    snapshot: operand(
      '[snapshot]',
      'a handle, a run, or a path; default: the run ingested last. With --table or --query: a path',
    ),
  },
  options: OPTIONS,
  async ask({ snapshot, ...options }, session) {
    const plan = planOf(options, session.context);
    const result = await (isOfRows(plan.format) ? exportRows : exportSnapshotAs)(session, snapshot, options, plan);
    if (result === undefined) return undefined;
    // Loaded only where a file is written.
    const { exportText } = await import('../../../report/store/export/export-text.js');
    return { result, text: exportText(result) };
  },
  full: ({ result }) => result,
  render: ({ text }) => text,
});

interface Plan {
  readonly format: ExportFormat;
  /** Undefined: standard output. */
  readonly output: string | undefined;
  readonly force: boolean;
  /** Undefined: the one that a diagnosis is about. */
  readonly device: number | 'all' | undefined;
}

const isOfRows = (format: ExportFormat): boolean => format === 'parquet' || format === 'csv';

/** Whatever is wrong with the options alone is MBF1001, before anything is opened. */
function planOf(options: Options, context: Context): Plan {
  const { table, query, force, withState, withSegments } = options;
  const output = options.output === '-' ? undefined : options.output;
  const format = options.as ?? FORMAT_OF_NAME.find(([suffix]) => output?.toLowerCase().endsWith(suffix))?.[1];
  if (format === undefined) {
    const extension = JSON.stringify(extname(output ?? ''));
    const known = FORMAT_OF_NAME.map(([suffix]) => suffix).join(', ');
    throw misuse(
      extension === '""'
        ? `no format: --as is one of ${EXPORT_FORMATS.join(', ')}`
        : `--output: unknown extension ${extension}; expected one of ${known}, or --as`,
    );
  }
  const isRows = isOfRows(format);
  const { device = format === 'snapshot-json' ? 'all' : undefined } = options;
  const faults: readonly (readonly [isWrong: boolean | undefined, fact: string])[] = [
    [!isRows && (table ?? query) !== undefined, `--table and --query are written as parquet or csv, not as ${format}`],
    [isRows && (table === undefined) === (query === undefined), `--as ${format} needs either --table or --query`],
    [(withState || withSegments) && format !== 'folded', '--with-state and --with-segments are options of --as folded'],
    [(isRows || format === 'snapshot-json') && options.rawFrames, `--raw-frames does nothing for --as ${format}`],
    [
      isRows && (options.at ?? options.device) !== undefined,
      '--at and --device are about a snapshot; a --query can contain the same condition',
    ],
    [table === 'all' && output === undefined, '--table all needs a directory as --output'],
    [output === undefined && options.json !== undefined, '--json describes the written file; name one with --output'],
    [
      output === undefined && context.isTerminal && (format === 'parquet' || format === 'pprof'),
      `${format} is binary and standard output is a terminal; name a file with --output`,
    ],
    [output === '', '--output is empty'],
    [options.csvRaw && format !== 'csv', '--csv-raw is an option of --as csv'],
    [
      device !== undefined && device !== 'all' && !/^\d{1,4}$/.test(device),
      `invalid --device ${JSON.stringify(device)}; expected a device number, or all`,
    ],
  ];
  const fault = faults.find(([isWrong]) => isWrong);
  if (fault !== undefined) throw misuse(fault[1]);
  return { format, output, force, device: device === undefined || device === 'all' ? device : Number(device) };
}

type Figures = Partial<Omit<ExportResult, 'schema' | 'format' | 'file' | 'bytes'>>;

/** The result: null and empty where `figures` lack what only some formats have. */
function written({ format }: Plan, file: string, bytes: number, figures: Figures): ExportResult {
  const none = { rows: null, stacks: null, sum_bytes: null, handle: null, moment: null, devices: [], tables: [] };
  return { schema: 'mbforensics/export@1', format, file, bytes, ...none, ...figures };
}

/** Makes one file: `fill` writes it under a working name and returns its figures; then it is moved to its place. */
async function writeFile(
  plan: Plan & { readonly output: string },
  fill: (work: string) => Promise<Figures>,
): Promise<ExportResult> {
  const { output, force } = plan;
  const { checkFree, placeOf, putInPlace, withWorkDirectory } = await import('../../output-file.js');
  checkFree(output, force);
  return withWorkDirectory(placeOf(output).parent, output, async (directory): Promise<ExportResult> => {
    const work = join(directory, 'export');
    const figures = await fill(work);
    return written(plan, output, putInPlace(work, output, force), figures);
  });
}

/** Makes what `fill` writes the output: a file, or, without a result, standard output. */
async function writePieces(
  plan: Plan,
  context: Context,
  fill: (sink: TextSink) => Promise<Figures>,
  exact = false,
): Promise<ExportResult | undefined> {
  const { standardOutput, writeTextFile } = await import('../../output-file.js');
  const { output } = plan;
  if (output !== undefined) return writeFile({ ...plan, output }, (work) => writeTextFile(work, output, fill));
  const sink = standardOutput(context, exact);
  await fill(sink);
  sink.end();
  return undefined;
}

async function exportSnapshotAs(
  session: Session,
  operand: string | undefined,
  options: Options,
  plan: Plan,
): Promise<ExportResult | undefined> {
  const { context } = session;
  const { parseMoment } = await import('../../../derive/trace/moment.js');
  const { checkFree } = await import('../../output-file.js');
  const moment = options.at === undefined ? undefined : parseMoment(options.at);
  const { output, format } = plan;
  if (output !== undefined) checkFree(output, plan.force);
  const target = await session.target(operand);
  const { store } = target;
  const { snapshot_id: snapshotId, display_path: path, handle, rank, form } = await oneSnapshot(target);
  const device =
    plan.device === 'all' ? undefined : await deviceOf(context, store, handle, moment ?? { kind: 'peak' }, plan.device);
  const about = { snapshotId, path, handle, rank, form, device };
  if (format === 'snapshot-json') {
    const { exportSnapshot } = await import('../../../findings/export/export-snapshot.js');
    const { missing, pieces, entries, moment: at, devices } = await exportSnapshot(store, about, moment);
    noteMissing(context, missing, at);
    return writePieces(plan, context, async (sink) => {
      for await (const piece of pieces) sink.write(visibleJson(piece));
      return { rows: entries(), handle, moment: at, devices };
    });
  }
  const { liveStacks } = await import('../../../findings/export/export-live-stacks.js');
  const { rawFrames, withSegments: segments } = options;
  const states = options.withState || segments;
  const live = await liveStacks(store, about, moment ?? { kind: 'peak' }, { rawFrames, holes: states, segments });
  noteMissing(context, live.missing, options.at ?? 'peak');
  const { content, stacks, sumBytes } = await encode(live, format, states);
  return writePieces(plan, context, async (sink) => {
    for (const piece of content) sink.write(piece);
    return {
      ...{ handle, moment: options.at ?? 'peak', stacks, sum_bytes: sumBytes },
      devices: live.devices.map(({ device, seq, activeBytes, reservedBytes, basis }) => ({
        ...{ device, seq, active_bytes: activeBytes, reserved_bytes: reservedBytes, basis },
      })),
    };
  });
}

/** The device of a file about one, with a note where the snapshot has others. */
async function deviceOf(
  context: Context,
  store: Store,
  handle: string,
  moment: Moment,
  given: number | undefined,
): Promise<number> {
  if (given !== undefined) return given;
  const { chooseDevice } = await import('../../../derive/state/choose-snapshot.js');
  const { snapshotId, device } = await chooseDevice(store, { handle }, moment, undefined);
  const used = await store.all('snapshot.devices', { snapshot_id: snapshotId });
  const more = used.filter((row) => row.device !== device && (row.segments > 0 || row.events !== null)).length;
  if (more > 0) context.err(`mbforensics: device ${device} alone; --device all adds ${more} more\n`);
  return device;
}

async function encode(live: LiveStacks, format: ExportFormat, states: boolean) {
  const exporter = `mbforensics ${version()}`;
  if (format === 'folded') {
    const { foldedStacks } = await import('../../../report/store/export/folded.js');
    const folded = foldedStacks(live, { states });
    return { content: folded.lines, stacks: folded.lines.length, sumBytes: folded.sumBytes };
  }
  if (format === 'svg') {
    const { flameSvg } = await import('../../../report/store/export/flame-svg.js');
    const picture = flameSvg(live, exporter);
    return { content: picture.lines, stacks: picture.stacks, sumBytes: picture.sumBytes };
  }
  const sumBytes = live.devices.reduce((sum, device) => sum + device.activeBytes, 0);
  if (format === 'speedscope') {
    const { speedscope } = await import('../../../report/store/export/speedscope.js');
    const file = speedscope(live, exporter);
    const stacks = new Set(live.devices.flatMap((device) => device.samples.map((sample) => sample.stack))).size;
    return { content: [`${visibleJson(JSON.stringify(file))}\n`], stacks, sumBytes };
  }
  const { pprof } = await import('../../../report/store/export/pprof.js');
  const stacks = live.devices.reduce((sum, device) => sum + device.samples.length, 0);
  return { content: [pprof(live, exporter)], stacks, sumBytes };
}

function noteMissing(context: Context, missing: readonly number[], moment: string): void {
  if (missing.length === 0) return;
  const devices = `${missing.length === 1 ? 'device' : 'devices'} ${missing.join(', ')}`;
  context.err(`mbforensics: ${devices} left out: no moment ${moment}\n`);
}

/** A file shows one snapshot; MBF1002 if the operand has none or several. */
async function oneSnapshot(target: Target) {
  const { listSnapshots } = await import('../../../derive/run/names/snapshots.js');
  const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
  const [snapshot, ...others] = await listSnapshots(target.store, filter);
  demandSnapshots(target.run, snapshot === undefined ? [] : [snapshot]);
  if (others.length === 0) return snapshot!;
  const handles = [snapshot!, ...others].map((row) => row.handle);
  const more = handles.length > 8 ? `, and ${handles.length - 8} more` : '';
  throw new MbfError(
    'MBF1002',
    `run ${target.run} has ${handles.length} memory snapshots, and a file shows one: ${handles.slice(0, 8).join(', ')}${more}`,
  );
}

async function exportRows(
  session: Session,
  operand: string | undefined,
  options: Options,
  plan: Plan,
): Promise<ExportResult | undefined> {
  const { csvRaw, table, query } = options;
  const { output, format } = plan;
  const { checkFree, sendFile, withWorkDirectory } = await import('../../output-file.js');
  if (output !== undefined && table !== 'all') checkFree(output, plan.force);
  const opened = await session.store(operand);
  session.note(opened);
  // Parquet is written by DuckDB, which may write nothing: the store is opened again with one directory allowed, made
  // for this file.
  const storeFor = async (directory: string): Promise<Store> => {
    if (format === 'csv') return opened.store;
    await opened.store.close();
    const how = { mode: 'read', exchangeDirectory: directory, ...resourcesOf(session.common) } as const;
    return session.keep(await openStore(opened.store.file, how));
  };
  const relations = (await opened.store.all('store.relations')).map((row) => row.name);
  if (table === 'all') return exportTables({ ...plan, output: output! }, relations, storeFor, csvRaw);
  if (table !== undefined && !relations.includes(table))
    throw new MbfError(
      'MBF1006',
      `the store has no table or view ${JSON.stringify(table)}; it has ${relations.join(', ')}`,
    );
  const select = query ?? wholeTable(table!);
  if (format === 'csv')
    return writePieces(
      plan,
      session.context,
      async (sink) => ({ rows: await writeCsv(opened.store, select, sink, csvRaw) }),
      csvRaw,
    );
  if (output !== undefined)
    return writeFile({ ...plan, output }, async (work) => ({
      rows: await writeParquet(await storeFor(dirname(work)), select, work, output),
    }));
  await withWorkDirectory(tmpdir(), tmpdir(), async (directory) => {
    const work = join(directory, 'export');
    await writeParquet(await storeFor(directory), select, work, 'standard output');
    await sendFile(work);
  });
  return undefined;
}

/** Each table and view into one file of a directory, which is put in place when all of them are whole. */
async function exportTables(
  plan: Plan & { readonly output: string },
  relations: readonly string[],
  storeFor: (directory: string) => Promise<Store>,
  csvRaw: boolean,
): Promise<ExportResult> {
  const { checkFree, placeOf, putDirectoryInPlace, withWorkDirectory, writeTextFile, writing } = await import(
    '../../output-file.js'
  );
  const { output, format, force } = plan;
  const nameOf = (table: string): string => `${table}.${format}`;
  for (const table of relations) checkFree(join(output, nameOf(table)), force);
  return withWorkDirectory(placeOf(output).parent, output, async (directory): Promise<ExportResult> => {
    const folder = join(directory, 'export');
    writing(output, () => mkdirSync(folder));
    const store = await storeFor(directory);
    const tables: ExportResult['tables'][number][] = [];
    for (const table of relations) {
      const [work, file] = [join(folder, nameOf(table)), join(output, nameOf(table))];
      const select = wholeTable(table);
      const rows = await (format === 'csv'
        ? writeTextFile(work, file, (sink) => writeCsv(store, select, sink, csvRaw))
        : writeParquet(store, select, work, file));
      tables.push({ table, file, bytes: statSync(work).size, rows });
    }
    putDirectoryInPlace(folder, output, relations.map(nameOf), force);
    const bytes = sumOf(tables.map((table) => table.bytes));
    return written(plan, output, bytes, { rows: sumOf(tables.map(({ rows }) => rows)), tables });
  });
}

/** As {@link writeCsv}; errors name `shown`. */
async function writeParquet(store: Store, select: string, work: string, shown: string): Promise<number> {
  const { copyToParquet } = await import('../../../store/read-only-sql.js');
  try {
    return await copyToParquet(store, select, work);
  } catch (error) {
    // What DuckDB could not write is the output: the store is open for reading.
    if (error instanceof MbfError && error.code === 'MBF3005')
      throw new MbfError('MBF3006', error.message.replaceAll(work, shown), { file: shown }, error);
    throw error;
  }
}

/** Returns how many rows `select` gave. */
async function writeCsv(store: Store, select: string, sink: TextSink, exact: boolean): Promise<number> {
  const { streamReadOnly } = await import('../../../store/read-only-sql.js');
  const { csvLine } = await import('../../../report/store/sql-text.js');
  const { columns, rows } = await streamReadOnly(store, select);
  sink.write(
    csvLine(
      columns.map((column) => column.name),
      exact,
    ),
  );
  let count = 0;
  for await (const row of rows) {
    sink.write(csvLine(row, exact));
    count += 1;
  }
  return count;
}
