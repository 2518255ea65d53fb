import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { MbfError } from '../../model/errors.js';
import { EXPORT_FORMATS, type ExportFormat, type ExportResult, type LiveStacks } from '../../model/export-results.js';
import type { Store } from '../../store/store.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import type { TextSink } from '../output-file.js';
import { openStore } from '../store-to-open.js';
import { openTarget, openTargetStore, resourcesOf, type Target } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { version } from '../version.js';
import { withHistories, withHistoriesFor } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly as?: string;
  readonly at?: string;
  readonly device?: string;
  readonly output?: string;
  readonly force?: boolean;
  readonly rawFrames?: boolean;
  readonly withState?: boolean;
  readonly withSegments?: boolean;
  readonly table?: string;
  readonly query?: string;
}

const ROW_FORMATS: readonly ExportFormat[] = ['parquet', 'csv'];
const BINARY_FORMATS: readonly ExportFormat[] = ['parquet', 'pprof'];

/** Names that other tools give such files, the longest first. */
const FORMAT_OF_NAME: readonly (readonly [suffix: string, format: ExportFormat])[] = [
  ['.speedscope.json', 'speedscope'],
  ['.collapsed', 'folded'],
  ['.folded', 'folded'],
  ['.parquet', 'parquet'],
  ['.pb.gz', 'pprof'],
  ['.json', 'snapshot-json'],
  ['.csv', 'csv'],
];

export function registerExport(program: Command, context: Context): void {
  withCommon(
    program
      .command('export')
      .description('files for other tools: flame graphs, pprof, speedscope, memory_viz; tables as Parquet or CSV')
      .argument(
        '[snapshot]',
        'a handle, a run, or a path; default: the run ingested last. With --table or --query: a path',
      )
      .option('--as <format>', `one of ${EXPORT_FORMATS.join(', ')} (default: what the name of the output says)`)
      .option('-o, --output <file>', 'the file to write; - or none: standard output')
      .option('--force', 'replace the output if it exists')
      .option(
        '--at <moment>',
        'start, peak, oom, end, seq:N, time:MICROSECONDS, step:N (default: peak; snapshot-json: end)',
      )
      .option('--device <n>', 'only this device')
      .option('--raw-frames', "keep the interpreter's frames and whole paths of files")
      .option(
        '--with-state',
        "folded: put stream and state in front as torch's _memory_viz.py does, and add free blocks",
      )
      .option('--with-segments', 'folded: --with-state by segment')
      .option(
        '--table <name>',
        'a table or view of the store; all: each into a file of its own in the directory --output',
      )
      .option('--query <select>', 'the rows of one SELECT'),
    [
      'export --as folded | flamegraph.pl --countname bytes > live.svg',
      'export snapshot_oom_rank-3.pickle --at oom -o oom.pb.gz',
      'export night-shift/3/snapshot#1 -o peak.speedscope.json',
      'export snapshot_oom_rank-3.pickle --as snapshot-json --at oom -o oom.json',
      'export --table event -o event.parquet',
      'export --table all --as parquet -o lake/',
      'export --query "SELECT action, count(*) FROM event GROUP BY ALL" --as csv',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const plan = planOf(options);
    if (plan.kind === 'rows') await exportRows(context, operand, options, plan);
    else await exportSnapshotAs(context, operand, options, plan);
  });
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
}
interface SnapshotPlan extends Plan {
  readonly kind: 'snapshot';
  readonly device: number | undefined;
}

/** Whatever is wrong with the options alone is MBF1001, before anything is opened. */
function planOf(options: Options): RowsPlan | SnapshotPlan {
  const wrong = (fact: string): never => {
    throw new MbfError('MBF1001', fact);
  };
  const output = options.output === '-' ? undefined : options.output;
  const named = FORMAT_OF_NAME.find(([suffix]) => output?.toLowerCase().endsWith(suffix))?.[1];
  const format = (options.as ?? named) as ExportFormat | undefined;
  if (format === undefined) return wrong(`no format: --as is one of ${EXPORT_FORMATS.join(', ')}`);
  if (!EXPORT_FORMATS.includes(format))
    return wrong(`--as ${JSON.stringify(format)} is none of ${EXPORT_FORMATS.join(', ')}`);
  const { table, query } = options;
  const isRows = ROW_FORMATS.includes(format);
  if (!isRows && (table !== undefined || query !== undefined))
    return wrong(`--table and --query are written as ${ROW_FORMATS.join(' or ')}, not as ${format}`);
  if (isRows && (table === undefined) === (query === undefined))
    return wrong(`--as ${format} needs either --table or --query`);
  const folded = options.withState === true || options.withSegments === true;
  if (folded && format !== 'folded') return wrong('--with-state and --with-segments are options of --as folded');
  if (isRows || format === 'snapshot-json') {
    if (options.rawFrames === true) return wrong(`--raw-frames does nothing for --as ${format}`);
  }
  if (isRows && (options.at !== undefined || options.device !== undefined))
    return wrong('--at and --device are about a snapshot; a --query can say the same');
  if (table === 'all' && output === undefined) return wrong('--table all needs a directory as --output');
  if (output === undefined) {
    if (options.json === true) return wrong('--json tells about the file written; name one with --output');
    if (BINARY_FORMATS.includes(format) && process.stdout.isTTY === true)
      return wrong(`${format} is binary and standard output is a terminal; name a file with --output`);
  } else if (output === '') return wrong('--output is empty');
  const force = options.force === true;
  if (isRows) return { kind: 'rows', format, output, force, table, query };
  if (options.device !== undefined && !/^\d{1,4}$/.test(options.device))
    return wrong(`--device ${JSON.stringify(options.device)} is no device`);
  const device = options.device === undefined ? undefined : Number(options.device);
  return { kind: 'snapshot', format, output, force, device };
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

/** Makes one file: `fill` writes it under a working name and tells its figures; afterwards it is put in place and told about. */
async function writeFile(
  context: Context,
  options: Options,
  plan: Plan & { readonly output: string },
  fill: (work: string) => Promise<Figures>,
): Promise<void> {
  const { checkFree, placeOf, putInPlace, withWorkDirectory } = await import('../output-file.js');
  checkFree(plan.output, plan.force);
  const { exportText } = await import('../../report/export/export-text.js');
  const place = placeOf(plan.output);
  const result = await withWorkDirectory(place.parent, plan.output, async (directory): Promise<ExportResult> => {
    const work = join(directory, 'export');
    const figures = await fill(work);
    const bytes = putInPlace(work, plan.output, plan.force);
    return { ...written(plan.format, plan.output, bytes), ...figures };
  });
  answer(context, options, result, exportText);
}

async function exportSnapshotAs(
  context: Context,
  operand: string | undefined,
  options: Options,
  plan: SnapshotPlan,
): Promise<void> {
  const { parseMoment } = await import('../../findings/trace/moment.js');
  const moment = options.at === undefined ? undefined : parseMoment(options.at);
  if (plan.output !== undefined) (await import('../output-file.js')).checkFree(plan.output, plan.force);
  const opened = await openTarget(operand, options, context);
  let target = opened;
  try {
    const snapshot = await oneSnapshot(opened);
    // The dump itself needs no walk.
    if (plan.format !== 'snapshot-json' || moment !== undefined)
      target = await withHistories(opened, [snapshot.snapshot_id], options);
    const about = {
      snapshotId: snapshot.snapshot_id,
      path: snapshot.display_path,
      handle: snapshot.handle,
      rank: snapshot.rank,
      form: snapshot.form,
      device: plan.device,
    };
    const { writeTextFile, writeBytes, standardOutput } = await import('../output-file.js');
    const { output } = plan;
    if (plan.format === 'snapshot-json') {
      const { exportSnapshot } = await import('../../findings/export/export-snapshot.js');
      const exported = await exportSnapshot(target.store, about, moment);
      noteMissing(context, exported.missing, exported.moment);
      const fill = async (sink: TextSink): Promise<void> => {
        for await (const piece of exported.pieces) sink.write(piece);
      };
      if (output === undefined) await toStandardOutput(standardOutput(context), fill);
      else
        await writeFile(context, options, { ...plan, output }, async (work) => {
          await writeTextFile(work, output, fill);
          const { devices, moment: at } = exported;
          return { rows: exported.entries(), handle: about.handle, moment: at, devices };
        });
    } else {
      const { liveStacks } = await import('../../findings/export/export-live-stacks.js');
      const states = options.withState === true || options.withSegments === true;
      const live = await liveStacks(target.store, about, moment ?? { kind: 'peak' }, {
        rawFrames: options.rawFrames === true,
        holes: states,
        segments: options.withSegments === true,
      });
      noteMissing(context, live.missing, options.at ?? 'peak');
      const encoded = await encode(live, plan.format, states);
      if (output === undefined) {
        const { content } = encoded;
        if (content instanceof Uint8Array) process.stdout.write(content);
        else await toStandardOutput(standardOutput(context), (sink) => writeLines(sink, content));
      } else
        await writeFile(context, options, { ...plan, output }, async (work) => {
          const { content } = encoded;
          if (content instanceof Uint8Array) writeBytes(work, output, content);
          else await writeTextFile(work, output, (sink) => writeLines(sink, content));
          return { ...liveFigures(live, options), stacks: encoded.stacks, sum_bytes: encoded.sumBytes };
        });
    }
    if (target.failed.length > 0) process.exitCode = EXIT.input;
  } finally {
    await target.close();
  }
}

type Lines = readonly string[];

function writeLines(sink: TextSink, lines: Lines): void {
  for (const line of lines) sink.write(line);
}

async function toStandardOutput(sink: TextSink, fill: (sink: TextSink) => Promise<void> | void): Promise<void> {
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
    const { foldedStacks } = await import('../../report/export/folded.js');
    const folded = foldedStacks(live, { states });
    return { content: folded.lines, stacks: folded.lines.length, sumBytes: folded.sumBytes };
  }
  const sumBytes = live.devices.reduce((sum, device) => sum + device.activeBytes, 0);
  if (format === 'speedscope') {
    const { speedscope } = await import('../../report/export/speedscope.js');
    const file = speedscope(live, exporter);
    const stacks = new Set(live.devices.flatMap((device) => device.samples.map((sample) => sample.stack))).size;
    return { content: [`${JSON.stringify(file)}\n`], stacks, sumBytes };
  }
  const { pprof } = await import('../../report/export/pprof.js');
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

/** A file shows one snapshot; MBF1002 if the operand has none or several. */
async function oneSnapshot(target: Target) {
  const { listSnapshots } = await import('../../findings/run/names/snapshots.js');
  const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
  const [snapshot, ...others] = await listSnapshots(target.store, filter);
  if (snapshot === undefined) throw new MbfError('MBF1002', `run ${target.run} has no memory snapshot`);
  if (others.length === 0) return snapshot;
  const handles = [snapshot, ...others].map((row) => row.handle);
  const more = handles.length > 8 ? `, and ${handles.length - 8} more` : '';
  throw new MbfError(
    'MBF1002',
    `run ${target.run} has ${handles.length} memory snapshots, and a file shows one: ${handles.slice(0, 8).join(', ')}${more}`,
  );
}

async function exportRows(
  context: Context,
  operand: string | undefined,
  options: Options,
  plan: RowsPlan,
): Promise<void> {
  const files = await import('../output-file.js');
  const { output } = plan;
  if (output !== undefined && plan.table !== 'all') files.checkFree(output, plan.force);
  const statement = plan.query ?? (plan.table === 'all' ? 'allocation' : (plan.table ?? ''));
  const opened = await withHistoriesFor(statement, await openTargetStore(operand, options, context), options, context);
  // Parquet is written by DuckDB, which may write nothing: the store is opened again with one directory allowed, made for this file.
  let reopened: Store | undefined;
  const storeFor = async (directory: string): Promise<Store> => {
    if (plan.format !== 'parquet') return opened.store;
    if (reopened === undefined) {
      await opened.store.close();
      reopened = await openStore(opened.store.file, {
        mode: 'read',
        exchangeDirectory: directory,
        ...resourcesOf(options),
      });
    }
    return reopened;
  };
  try {
    const relations = (await opened.store.all('store.relations')).map((row) => row.name);
    if (plan.table === 'all') await exportTables(context, options, { ...plan, output: output! }, relations, storeFor);
    else {
      const select = selectOf(plan, relations);
      if (output !== undefined)
        await writeFile(context, options, { ...plan, output }, async (work) => ({
          rows: await writeRows(await storeFor(files.parentOf(work)), select, plan.format, work, output),
        }));
      else if (plan.format === 'csv') {
        const sink = files.standardOutput(context);
        await writeCsv(opened.store, select, sink);
        sink.end();
      } else
        await files.withWorkDirectory(tmpdir(), tmpdir(), async (directory) => {
          const work = join(directory, 'export');
          await writeRows(await storeFor(directory), select, plan.format, work, 'standard output');
          await files.sendFile(work);
        });
    }
    if (opened.failed.length > 0) process.exitCode = EXIT.input;
  } finally {
    await reopened?.close();
    await opened.close();
  }
}

function selectOf(plan: RowsPlan, relations: readonly string[]): string {
  if (plan.query !== undefined) return plan.query;
  const { table } = plan;
  if (!relations.includes(table!))
    throw new MbfError(
      'MBF1006',
      `the store has no table or view ${JSON.stringify(table)}; it has ${relations.join(', ')}`,
    );
  return selectAll(table!);
}

function selectAll(table: string): string {
  return `SELECT * FROM "${table.replaceAll('"', '""')}"`;
}

/** Each table and view into one file of a directory, which is put in place when all of them are whole. */
async function exportTables(
  context: Context,
  options: Options,
  plan: RowsPlan & { readonly output: string },
  relations: readonly string[],
  storeFor: (directory: string) => Promise<Store>,
): Promise<void> {
  const { checkFree, makeDirectory, placeOf, putDirectoryInPlace, sizeOf, withWorkDirectory } = await import(
    '../output-file.js'
  );
  const { exportText } = await import('../../report/export/export-text.js');
  const { output, format } = plan;
  const nameOf = (table: string): string => `${table}.${format}`;
  for (const table of relations) checkFree(join(output, nameOf(table)), plan.force);
  const result = await withWorkDirectory(placeOf(output).parent, output, async (directory): Promise<ExportResult> => {
    const work = makeDirectory(join(directory, 'export'), output);
    const tables: ExportResult['tables'][number][] = [];
    for (const table of relations) {
      const file = join(work, nameOf(table));
      const rows = await writeRows(
        await storeFor(directory),
        selectAll(table),
        format,
        file,
        join(output, nameOf(table)),
      );
      tables.push({ table, file: join(output, nameOf(table)), bytes: sizeOf(file), rows });
    }
    putDirectoryInPlace(work, output, relations.map(nameOf), plan.force);
    const sum = (pick: (table: ExportResult['tables'][number]) => number): number =>
      tables.reduce((total, table) => total + pick(table), 0);
    return {
      ...written(
        format,
        output,
        sum((table) => table.bytes),
      ),
      rows: sum((table) => table.rows),
      tables,
    };
  });
  answer(context, options, result, exportText);
}

/** Returns how many rows `select` gave. */
async function writeRows(
  store: Store,
  select: string,
  format: ExportFormat,
  work: string,
  shown: string,
): Promise<number> {
  if (format === 'csv') {
    const { writeTextFile } = await import('../output-file.js');
    let rows = 0;
    await writeTextFile(work, shown, async (sink) => {
      rows = await writeCsv(store, select, sink);
    });
    return rows;
  }
  const { copyToParquet } = await import('../../store/read-only-sql.js');
  try {
    return await copyToParquet(store, select, work);
  } catch (error) {
    // What DuckDB could not write is the output: the store is open for reading.
    if (error instanceof MbfError && error.code === 'MBF3005')
      throw new MbfError('MBF3006', error.message.replaceAll(work, shown), { file: shown }, error);
    throw error;
  }
}

async function writeCsv(store: Store, select: string, sink: TextSink): Promise<number> {
  const { streamReadOnly } = await import('../../store/read-only-sql.js');
  const { csvLine } = await import('../../report/sql-text.js');
  const { columns, rows } = await streamReadOnly(store, select);
  sink.write(csvLine(columns.map((column) => column.name)));
  let count = 0;
  for await (const row of rows) {
    sink.write(csvLine(row));
    count += 1;
  }
  return count;
}
