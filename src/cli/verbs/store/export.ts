import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { listSnapshots } from '../../../derive/run/names/snapshots.js';
import type { Moment } from '../../../derive/trace/moment.js';
import { MbfError } from '../../../model/errors.js';
import { visibleJson } from '../../../model/escape-controls.js';
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
import { CSV_RAW, flag, oneOf, operand, option, REDACT, type Values } from '../../options.js';
import type { TextSink } from '../../output-file.js';
import { type CommonOptions, demandSnapshots, type Session } from '../../session.js';
import type { Target } from '../../target.js';
import { version } from '../../version.js';

const ROW_FORMATS: readonly ExportFormat[] = ['parquet', 'csv'];
const BINARY_FORMATS: readonly ExportFormat[] = ['parquet', 'pprof'];

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
  async ask({ snapshot, ...options }, session): Promise<Exported | undefined> {
    const plan = planOf(options, session.context);
    const result = await (plan.kind === 'rows'
      ? exportRows(session, snapshot, plan)
      : exportSnapshotAs(session, snapshot, options, plan));
    if (result === undefined) return undefined;
    const { exportText } = await import('../../../report/store/export/export-text.js');
    return { result, text: exportText(result) };
  },
  full: ({ result }) => result,
  render: ({ text }) => text,
});

/** The text is rendered in `ask`: its module is loaded only where a file is written. */
interface Exported {
  readonly result: ExportResult;
  readonly text: string;
}

interface Plan {
  readonly format: ExportFormat;
  /** Undefined: standard output. */
  readonly output: string | undefined;
  readonly force: boolean;
}
interface RowsPlan extends Plan {
  readonly kind: 'rows';
  readonly table: string | undefined;
  readonly query: string | undefined;
  readonly csvRaw: boolean;
}
interface SnapshotPlan extends Plan {
  readonly kind: 'snapshot';
  /** Undefined: the one that a diagnosis is about. */
  readonly device: number | 'all' | undefined;
}

/** Whatever is wrong with the options alone is MBF1001, before anything is opened. */
function planOf(options: Options, context: Context): RowsPlan | SnapshotPlan {
  const wrong = (fact: string): never => {
    throw new MbfError('MBF1001', fact);
  };
  const output = options.output === '-' ? undefined : options.output;
  const named = FORMAT_OF_NAME.find(([suffix]) => output?.toLowerCase().endsWith(suffix))?.[1];
  const format = options.as ?? named;
  const extension = output === undefined ? '' : extname(output);
  if (format === undefined && extension !== '') {
    const known = FORMAT_OF_NAME.map(([suffix]) => suffix).join(', ');
    return wrong(`--output: unknown extension ${JSON.stringify(extension)}; expected one of ${known}, or --as`);
  }
  if (format === undefined) return wrong(`no format: --as is one of ${EXPORT_FORMATS.join(', ')}`);
  const { table, query } = options;
  const isRows = ROW_FORMATS.includes(format);
  if (!isRows && (table !== undefined || query !== undefined))
    return wrong(`--table and --query are written as ${ROW_FORMATS.join(' or ')}, not as ${format}`);
  if (isRows && (table === undefined) === (query === undefined))
    return wrong(`--as ${format} needs either --table or --query`);
  const folded = options.withState || options.withSegments;
  if (folded && format !== 'folded') return wrong('--with-state and --with-segments are options of --as folded');
  if (isRows || format === 'snapshot-json') {
    if (options.rawFrames) return wrong(`--raw-frames does nothing for --as ${format}`);
  }
  if (isRows && (options.at !== undefined || options.device !== undefined))
    return wrong('--at and --device are about a snapshot; a --query can contain the same condition');
  if (table === 'all' && output === undefined) return wrong('--table all needs a directory as --output');
  if (output === undefined) {
    if (options.json) return wrong('--json describes the written file; name one with --output');
    if (BINARY_FORMATS.includes(format) && context.isTerminal)
      return wrong(`${format} is binary and standard output is a terminal; name a file with --output`);
  } else if (output === '') return wrong('--output is empty');
  const { force, csvRaw } = options;
  if (csvRaw && format !== 'csv') return wrong('--csv-raw is an option of --as csv');
  if (isRows) return { kind: 'rows', format, output, force, table, query, csvRaw };
  const { device = format === 'snapshot-json' ? 'all' : undefined } = options;
  if (device !== undefined && device !== 'all' && !/^\d{1,4}$/.test(device))
    return wrong(`invalid --device ${JSON.stringify(device)}; expected a device number, or all`);
  return {
    kind: 'snapshot',
    format,
    output,
    force,
    device: device === undefined || device === 'all' ? device : Number(device),
  };
}

/** The result without what only some formats have. */
function written(format: ExportFormat, file: string, bytes: number): ExportResult {
  return {
    schema: 'mbforensics/export@1',
    format,
    file,
    bytes,
    rows: null,
    stacks: null,
    sum_bytes: null,
    handle: null,
    moment: null,
    devices: [],
    tables: [],
  };
}

type Figures = Partial<Omit<ExportResult, 'schema' | 'format' | 'file' | 'bytes'>>;

/** Makes one file: `fill` writes it under a working name and returns its figures; then it is moved to its place. */
async function writeFile(
  plan: Plan & { readonly output: string },
  fill: (work: string) => Promise<Figures>,
): Promise<ExportResult> {
  const { checkFree, placeOf, putInPlace, withWorkDirectory } = await import('../../output-file.js');
  checkFree(plan.output, plan.force);
  const place = placeOf(plan.output);
  return withWorkDirectory(place.parent, plan.output, async (directory): Promise<ExportResult> => {
    const work = join(directory, 'export');
    const figures = await fill(work);
    const bytes = putInPlace(work, plan.output, plan.force);
    return { ...written(plan.format, plan.output, bytes), ...figures };
  });
}

async function exportSnapshotAs(
  session: Session,
  operand: string | undefined,
  options: Options,
  plan: SnapshotPlan,
): Promise<ExportResult | undefined> {
  const { context } = session;
  const { parseMoment } = await import('../../../derive/trace/moment.js');
  const moment = options.at === undefined ? undefined : parseMoment(options.at);
  const { checkFree, standardOutput, writeBytes, writeTextFile } = await import('../../output-file.js');
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
    const exported = await exportSnapshot(store, about, moment);
    noteMissing(context, exported.missing, exported.moment);
    const fill = async (sink: TextSink): Promise<void> => {
      for await (const piece of exported.pieces) sink.write(visibleJson(piece));
    };
    if (output === undefined) return toStandardOutput(standardOutput(context), fill);
    return writeFile({ ...plan, output }, async (work) => {
      await writeTextFile(work, output, fill);
      const { devices, moment: at } = exported;
      return { rows: exported.entries(), handle, moment: at, devices };
    });
  }
  const { liveStacks } = await import('../../../findings/export/export-live-stacks.js');
  const states = options.withState || options.withSegments;
  const live = await liveStacks(store, about, moment ?? { kind: 'peak' }, {
    rawFrames: options.rawFrames,
    holes: states,
    segments: options.withSegments,
  });
  noteMissing(context, live.missing, options.at ?? 'peak');
  const { content, stacks, sumBytes } = await encode(live, format, states);
  if (output !== undefined)
    return writeFile({ ...plan, output }, async (work) => {
      if (content instanceof Uint8Array) writeBytes(work, output, content);
      else await writeTextFile(work, output, (sink) => writeLines(sink, content));
      return { ...liveFigures(live, options), stacks, sum_bytes: sumBytes };
    });
  if (!(content instanceof Uint8Array))
    return toStandardOutput(standardOutput(context), (sink) => writeLines(sink, content));
  context.bytes(content);
  return undefined;
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

type Lines = readonly string[];

function writeLines(sink: TextSink, lines: Lines): void {
  for (const line of lines) sink.write(line);
}

async function toStandardOutput(sink: TextSink, fill: (sink: TextSink) => Promise<void> | void): Promise<undefined> {
  await fill(sink);
  sink.end();
}

interface Encoded {
  readonly content: Lines | Uint8Array;
  readonly stacks: number;
  readonly sumBytes: number;
}

async function encode(live: LiveStacks, format: ExportFormat, states: boolean): Promise<Encoded> {
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
  return { content: pprof(live, exporter), stacks, sumBytes };
}

function liveFigures(live: LiveStacks, options: Options): Figures {
  return {
    handle: live.handle,
    moment: options.at ?? 'peak',
    devices: live.devices.map(({ device, seq, activeBytes, reservedBytes, basis }) => ({
      device,
      seq,
      active_bytes: activeBytes,
      reserved_bytes: reservedBytes,
      basis,
    })),
  };
}

function noteMissing(context: Context, missing: readonly number[], moment: string): void {
  if (missing.length === 0) return;
  const devices = `${missing.length === 1 ? 'device' : 'devices'} ${missing.join(', ')}`;
  context.err(`mbforensics: ${devices} left out: no moment ${moment}\n`);
}

type SnapshotRow = Awaited<ReturnType<typeof listSnapshots>>[number];

/** A file shows one snapshot; MBF1002 if the operand has none or several. */
async function oneSnapshot(target: Target): Promise<SnapshotRow> {
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
  plan: RowsPlan,
): Promise<ExportResult | undefined> {
  const { context, common } = session;
  const files = await import('../../output-file.js');
  const { output, format, table } = plan;
  if (output !== undefined && table !== 'all') files.checkFree(output, plan.force);
  const opened = await session.store(operand);
  session.note(opened);
  // Parquet is written by DuckDB, which may write nothing: the store is opened again with one directory allowed, made
  // for this file.
  let reopened: Store | undefined;
  const storeFor = async (directory: string): Promise<Store> => {
    if (format !== 'parquet') return opened.store;
    if (reopened === undefined) {
      await opened.store.close();
      const how = { mode: 'read', exchangeDirectory: directory, ...resourcesOf(common) } as const;
      reopened = session.keep(await openStore(opened.store.file, how));
    }
    return reopened;
  };
  const relations = (await opened.store.all('store.relations')).map((row) => row.name);
  if (table === 'all') return exportTables({ ...plan, output: output! }, relations, storeFor);
  const select = selectOf(plan, relations);
  if (output !== undefined)
    return writeFile({ ...plan, output }, async (work) => ({
      rows: await writeRows(await storeFor(files.parentOf(work)), select, plan, work, output),
    }));
  if (format === 'csv') {
    const sink = files.standardOutput(context, plan.csvRaw);
    await writeCsv(opened.store, select, sink, plan.csvRaw);
    sink.end();
  } else
    await files.withWorkDirectory(tmpdir(), tmpdir(), async (directory) => {
      const work = join(directory, 'export');
      await writeRows(await storeFor(directory), select, plan, work, 'standard output');
      await files.sendFile(work);
    });
  return undefined;
}

function selectOf(plan: RowsPlan, relations: readonly string[]): string {
  if (plan.query !== undefined) return plan.query;
  const { table } = plan;
  if (!relations.includes(table!))
    throw new MbfError(
      'MBF1006',
      `the store has no table or view ${JSON.stringify(table)}; it has ${relations.join(', ')}`,
    );
  return wholeTable(table!);
}

/** Each table and view into one file of a directory, which is put in place when all of them are whole. */
async function exportTables(
  plan: RowsPlan & { readonly output: string },
  relations: readonly string[],
  storeFor: (directory: string) => Promise<Store>,
): Promise<ExportResult> {
  const { checkFree, makeDirectory, placeOf, putDirectoryInPlace, sizeOf, withWorkDirectory } = await import(
    '../../output-file.js'
  );
  const { output, format } = plan;
  const nameOf = (table: string): string => `${table}.${format}`;
  for (const table of relations) checkFree(join(output, nameOf(table)), plan.force);
  return withWorkDirectory(placeOf(output).parent, output, async (directory): Promise<ExportResult> => {
    const work = makeDirectory(join(directory, 'export'), output);
    const tables: ExportResult['tables'][number][] = [];
    for (const table of relations) {
      const file = join(work, nameOf(table));
      const shown = join(output, nameOf(table));
      const rows = await writeRows(await storeFor(directory), wholeTable(table), plan, file, shown);
      tables.push({ table, file: join(output, nameOf(table)), bytes: sizeOf(file), rows });
    }
    putDirectoryInPlace(work, output, relations.map(nameOf), plan.force);
    const sum = (pick: (table: ExportResult['tables'][number]) => number): number =>
      tables.reduce((total, table) => total + pick(table), 0);
    const bytes = sum((table) => table.bytes);
    return { ...written(format, output, bytes), rows: sum((table) => table.rows), tables };
  });
}

/** Returns how many rows `select` gave. */
async function writeRows(
  store: Store,
  select: string,
  { format, csvRaw }: Pick<RowsPlan, 'format' | 'csvRaw'>,
  work: string,
  shown: string,
): Promise<number> {
  if (format === 'csv') {
    const { writeTextFile } = await import('../../output-file.js');
    let rows = 0;
    await writeTextFile(work, shown, async (sink) => {
      rows = await writeCsv(store, select, sink, csvRaw);
    });
    return rows;
  }
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
