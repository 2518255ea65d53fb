/**
 * An export made of tables (SQLite, Parquet) into rows: big tables by whole columns, small ones as facts, texts last
 * and only those that rows name.
 */
import { MbfError } from '../../src/model/errors.js';
import { type KnownRank, rankFields } from '../../src/model/log-rows.js';
import { keepsDiagnostic, type NsysForm, PRIVATE_TABLES } from '../../src/model/nsys-rows.js';
import { packTexts } from '../../src/model/packed-texts.js';
import type { NsysSink, ParseContext, ParseSummary, RowSink } from '../../src/model/parser.js';
import type { CellBatch, CellColumn, SourceTable, TableSource } from '../../src/model/table-source.js';
import { type Cell, readCapture, readExportFacts, reportClock, SEVERITIES } from './capture.js';
import { bits64, cell, integer, shifted, small, word } from './cells.js';
import {
  emitEnvironment,
  emitProcesses,
  processNumber,
  programName,
  threadNumber,
  withoutDirectories,
} from './emit.js';
import { EventTables } from './event-tables.js';
import { rawColumn } from './raw-columns.js';
import { TABLE_MAPS } from './table-maps.js';
import { TableScans } from './table-scans.js';
import { cutText, TextBatches } from './text-numbers.js';

/** Notes of data quality; a capture that lost events reports it once or twice. */
const MOST_DIAGNOSTICS = 2_000;

/** A variable of an environment, or the first of a whole one. */
const ENVIRONMENT_LINE = /^[A-Za-z_]\w*(?:\(\))?=/;

/**
 * @throws {MbfError} MBF2703 if these are not the tables of an export, MBF2701 if this is unknown because their list is
 * damaged.
 */
export async function readTables(
  source: TableSource,
  form: NsysForm,
  sink: RowSink,
  context: ParseContext,
): Promise<ParseSummary> {
  const { nsys } = sink;
  if (nsys === undefined) throw new Error('the sink takes no export');
  const scans = new TableScans(source, sink);
  checkTables(scans.tables, source.listProblem);
  if (source.listProblem !== undefined) {
    const { fact, offset } = source.listProblem;
    const text = `the list of tables is damaged: ${fact}; tables named after that are lost`;
    sink.note({ kind: 'nsys_table_damaged', severity: 'warning', text, offset });
  }

  const exported = readExportFacts(
    await scans.small(scans.tables.has('META_DATA_EXPORT') ? 'META_DATA_EXPORT' : 'EXPORT_META_DATA', [
      'name',
      'value',
    ]),
  );
  const capture = readCapture(await scans.small('META_DATA_CAPTURE', ['name', 'value']));
  const [session] = await scans.small('TARGET_INFO_SESSION_START_TIME', ['utcEpochNs']);
  const [details] = await scans.small('ANALYSIS_DETAILS', ['duration']);
  const host = (await scans.small('TARGET_INFO_SYSTEM_ENV', ['name', 'value'])).find(({ name }) => name === 'Hostname');

  const startUtc = session?.['utcEpochNs'];
  const clock = reportClock(bits64(startUtc), exported);
  const events = new EventTables(scans, sink, nsys, clock.shiftNs);
  const reader = new FactReader(scans, events, nsys, clock.shiftNs);
  for (const map of TABLE_MAPS) if (await events.read(map)) reader.read.add(map.table);

  await reader.gpus();
  await reader.diagnostics();
  await reader.threads();
  const cudaProcesses = events.cudaProcesses();
  const rank = cudaProcesses.length === 1 ? capture.rank : null;
  await reader.processes(cudaProcesses, rank);
  if (context.allTables === true) await reader.allTables(sink);
  await reader.texts();
  await reader.tableRows();

  const duration = details?.['duration'];
  const hostName = typeof host?.['value'] === 'string' && host['value'] !== '' ? host['value'] : null;
  const memoryRows = scans.rowsOf('CUDA_GPU_MEMORY_USAGE_EVENTS');
  nsys.fact({
    row: 'report',
    form,
    productVersion: exported.productVersion,
    schemaVersion: exported.schemaVersion,
    clockOffsetNs: clock.offsetNs,
    clockOrigin: clock.origin,
    durationNs: bits64(duration),
    host: hostName,
    // Rows prove it; an option may belong to another process of the capture.
    memoryEventsCollected: memoryRows > 0 ? true : capture.memoryEvents,
    graphTrace: capture.graphTrace,
    isPartial: exported.isPartial,
    hasAllTables: context.allTables === true,
  });
  for (const option of [...exported.options, ...capture.options]) nsys.fact({ row: 'option', ...option });
  emitEnvironment(sink, capture.env, rank, hostName);
  return rankFields(rank);
}

function checkTables(tables: ReadonlyMap<string, SourceTable>, problem: TableSource['listProblem']): void {
  const isExport =
    ['META_DATA_EXPORT', 'EXPORT_META_DATA'].some((name) => tables.has(name)) ||
    (tables.has('StringIds') &&
      [...tables.keys()].some((name) => /^(?:TARGET_INFO_|ENUM_NSYS_|CUPTI_ACTIVITY_KIND_)/.test(name)));
  if (isExport) return;
  if (problem !== undefined)
    throw new MbfError('MBF2701', `the list of tables is damaged: ${problem.fact}`, { offset: problem.offset });
  const names = [...tables.keys()];
  const list =
    names.length === 0
      ? 'it has no table at all'
      : `its tables are ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;
  throw new MbfError('MBF2703', `is a database, but not an export of Nsight Systems: ${list}`);
}

/** Metadata of an export and of the machine, its texts, and its raw tables. */
class FactReader {
  /** Tables whose rows are in the store. */
  readonly read = new Set<string>();
  private readonly scans: TableScans;
  private readonly events: EventTables;
  private readonly nsys: NsysSink;
  private readonly shiftNs: bigint;
  /** Texts that hold what the job printed, by number: never kept. */
  private readonly privateTexts = new Set<number>();

  constructor(scans: TableScans, events: EventTables, nsys: NsysSink, shiftNs: bigint) {
    this.scans = scans;
    this.events = events;
    this.nsys = nsys;
    this.shiftNs = shiftNs;
  }

  async gpus(): Promise<void> {
    this.read.add('TARGET_INFO_GPU').add('TARGET_INFO_CUDA_DEVICE');
    const seen = new Set<number>();
    for (const row of await this.scans.small('TARGET_INFO_GPU', ['id', 'name', 'totalMemory', 'busLocation', 'uuid'])) {
      const id = small(row['id']);
      if (id === null || seen.has(id)) continue;
      seen.add(id);
      this.nsys.fact({
        row: 'gpu',
        gpu: id,
        name: word(row['name']),
        totalBytes: integer(row['totalMemory']),
        busLocation: word(row['busLocation']),
        uuid: word(row['uuid']),
      });
    }
    for (const row of await this.scans.small('TARGET_INFO_CUDA_DEVICE', ['gpuId', 'cudaId', 'pid'])) {
      const pid = small(row['pid']);
      const device = small(row['cudaId']);
      if (pid !== null && device !== null) this.nsys.fact({ row: 'device', pid, device, gpu: small(row['gpuId']) });
    }
  }

  async diagnostics(): Promise<void> {
    this.read.add('DIAGNOSTIC_EVENT');
    const rows = await this.scans.small('DIAGNOSTIC_EVENT', ['timestamp', 'severity', 'text']);
    for (const { timestamp, severity, text } of rows.slice(0, MOST_DIAGNOSTICS)) {
      if (typeof text !== 'string') continue;
      const level = integer(severity);
      const words = level === null ? 'unknown' : (SEVERITIES[level] ?? String(level));
      if (!keepsDiagnostic(words, text)) continue;
      this.nsys.fact({
        row: 'diagnostic',
        timeNs: shifted(timestamp ?? null, this.shiftNs),
        severity: words,
        text: withoutDirectories(cutText(text)),
      });
    }
  }

  /** Names of threads of the processes that did anything we keep: a capture lists every thread of the machine. */
  async threads(): Promise<void> {
    const names = await this.scans.small('ThreadNames', ['nameId', 'globalTid']);
    const threadsByName = new Map<number, { pid: number; tid: number }[]>();
    for (const row of names) {
      const tid = threadNumber(row['globalTid'] ?? null);
      const pid = processNumber(row['globalTid'] ?? null);
      const nameId = integer(row['nameId']);
      if (tid === null || pid === null || nameId === null || !this.events.pids.has(pid)) continue;
      const list = threadsByName.get(nameId) ?? [];
      list.push({ pid, tid });
      threadsByName.set(nameId, list);
    }
    if (threadsByName.size === 0) return;
    await this.eachText((id, text) => {
      for (const thread of threadsByName.get(id) ?? [])
        this.nsys.fact({ row: 'thread', ...thread, name: cutText(text) });
    });
  }

  async processes(cuda: readonly number[], rank: KnownRank): Promise<void> {
    const names = new Map<number, string | null>();
    for (const row of await this.scans.small('PROCESSES', ['globalPid', 'pid', 'name'])) {
      const pid = integer(row['pid']) ?? processNumber(row['globalPid'] ?? null);
      if (pid !== null && this.events.pids.has(pid))
        names.set(pid, programName(word(row['name'])) ?? names.get(pid) ?? null);
    }
    emitProcesses(this.nsys, this.events.pids.keys(), (pid) => names.get(pid), cuda, rank);
  }

  /** The texts that rows name. They are in a separate table, so they are read after everything that names them. */
  async texts(): Promise<void> {
    this.events.rowTexts.flush();
    await this.findPrivateTexts();
    const batches = new TextBatches((texts) => this.nsys.texts(packTexts(texts)));
    await this.eachText((id, text) => {
      if (this.events.used.has(id) && !this.privateTexts.has(id)) batches.add(id, cutText(text));
    });
    batches.flush();
  }

  private async findPrivateTexts(): Promise<void> {
    for (const [table, columns] of [
      ['ProcessStreams', ['filenameId', 'contentId']],
      ['ANALYSIS_FILE', ['contentId']],
    ] as const) {
      for (const row of await this.scans.small(table, columns)) {
        for (const column of columns) {
          const id = integer(row[column] ?? null);
          if (id !== null) this.privateTexts.add(id);
        }
      }
    }
  }

  private async eachText(take: (id: number, text: string) => void): Promise<void> {
    const columns = this.scans.tables.get('StringIds')?.columns.map(({ name }) => name) ?? [];
    if (!columns.includes('id') || !columns.includes('value')) return;
    await this.scans.scan('StringIds', ['id', 'value'], ({ rows, columns: [ids, values] }) => {
      for (let row = 0; row < rows; row++) {
        const text = values!.texts[row];
        const id = cell(ids!, row);
        // Below 0 are numbers of our own.
        if (text !== undefined && typeof id === 'number' && id >= 0 && Number.isSafeInteger(id)) take(id, text);
      }
    });
  }

  /** Every raw table except those with private data of the job. */
  async allTables(sink: RowSink): Promise<void> {
    await this.findPrivateTexts();
    const note = (text: string, count = 1): void =>
      sink.note({ kind: 'nsys_tables_not_kept', severity: 'info', text, count });
    for (const table of this.scans.tables.values()) {
      const content = PRIVATE_TABLES.get(table.name);
      if (content !== undefined) note(`the table ${table.name} was not copied: ${content}`);
      else if (table.name !== 'StringIds') await this.copyTable(table);
    }
    const strings = this.scans.tables.get('StringIds');
    if (strings === undefined) return;
    const id = strings.columns.findIndex(({ name }) => name === 'id');
    const value = strings.columns.findIndex(({ name }) => name === 'value');
    if (id < 0 || value < 0) return;
    let left = 0;
    await this.copyTable(strings, ({ columns }, row) => {
      const isPrivate = this.isPrivate(cell(columns[id]!, row), columns[value]!, row);
      if (isPrivate) left += 1;
      return !isPrivate;
    });
    if (left > 0) note('texts of the table StringIds were not copied: environment and output of the job', left);
  }

  /**
   * What the job printed, and its environment, which the exporter numbers with all other texts and which no table
   * names.
   */
  private isPrivate(id: Cell, values: CellColumn, row: number): boolean {
    if (typeof id !== 'number' || this.privateTexts.has(id)) return true;
    return !this.events.used.has(id) && ENVIRONMENT_LINE.test(values.texts[row] ?? '');
  }

  private async copyTable(table: SourceTable, keeps?: (batch: CellBatch, row: number) => boolean): Promise<void> {
    const names = table.columns.map(({ name }) => name);
    await this.nsys.rawTable(table.name, table.columns);
    await this.scans.scan(table.name, names, (batch) => {
      const rows: number[] = [];
      for (let row = 0; row < batch.rows; row++) if (keeps?.(batch, row) !== false) rows.push(row);
      const columns = batch.columns.map((column, i) => rawColumn(table.columns[i]!.type, column, rows));
      this.nsys.raw({ table: table.name, columns, rows: rows.length });
    });
    if (!this.scans.unreadable.has(table.name)) this.read.add(table.name);
  }

  /** What there is in the export, whether it was read or not. */
  async tableRows(): Promise<void> {
    for await (const { name, rows } of this.scans.rows()) {
      this.nsys.fact({ row: 'table', name, rowCount: rows, isRead: this.read.has(name) });
    }
  }
}
