/** An export made of tables (SQLite, Parquet) into rows: big tables by whole columns, small ones as facts, texts last and only those that rows name. */
import { NULL_HIGH } from '../../src/model/columns.js';
import { MbfError } from '../../src/model/errors.js';
import { keepsDiagnostic, NSYS_LAYOUTS, type NsysForm, type NsysText } from '../../src/model/nsys-rows.js';
import { packTexts } from '../../src/model/packed-texts.js';
import type { NsysSink, ParseContext, ParseSummary, RowSink } from '../../src/model/parser.js';
import {
  CELL,
  type CellBatch,
  type CellColumn,
  type SourceTable,
  type TableSource,
} from '../../src/model/table-source.js';
import { type Cell, type Row, readCapture, readExportFacts, reportClock, SEVERITIES } from './capture.js';
import { emitEnvironment, processNumber, programName, threadNumber, withoutDirectories } from './emit.js';
import { integerAt, rawColumn } from './raw-columns.js';
import { BUILDER_BYTES, RowBuilder } from './row-builder.js';
import { ROW_TEXTS, TABLE_MAPS, type TableMap } from './table-maps.js';
import { cutText, RowTexts, TEXTS_AT_ONCE, UsedTexts } from './text-numbers.js';

/** Rows of a small table; more say nothing that matters and may be an attack. */
const MOST_SMALL_ROWS = 200_000;
/** Notes of data quality; a capture that lost events says so once or twice. */
const MOST_DIAGNOSTICS = 2_000;

/** Never copied whole, not even with every table: environment, captured output, command lines, paths and users' names. */
const PRIVATE_TABLES: ReadonlySet<string> = new Set([
  'META_DATA_CAPTURE',
  'META_DATA_EXPORT',
  'EXPORT_META_DATA',
  'TARGET_INFO_SYSTEM_ENV',
  'ProcessStreams',
  'ANALYSIS_FILE',
  'StringIds',
]);
/** A variable of an environment, or the first of a whole one. */
const ENVIRONMENT_LINE = /^[A-Za-z_]\w*(?:\(\))?=/;

/** @throws {MbfError} MBF2703 if these are not the tables of an export, MBF2701 if it cannot be told because their list is damaged. */
export async function readTables(
  source: TableSource,
  form: NsysForm,
  sink: RowSink,
  context: ParseContext,
): Promise<ParseSummary> {
  const { nsys } = sink;
  if (nsys === undefined) throw new Error('the sink takes no export');
  const tables = new Map(source.tables.map((table) => [table.name, table]));
  checkTables(tables, source.listProblem);
  const reader = new Reader(source, tables, sink, nsys);
  if (source.listProblem !== undefined) {
    const { fact, offset } = source.listProblem;
    const text = `the list of tables is damaged: ${fact}; tables named after that are lost`;
    sink.note({ kind: 'nsys_table_damaged', severity: 'warning', text, offset });
  }

  const exported = readExportFacts(
    await reader.small(tables.has('META_DATA_EXPORT') ? 'META_DATA_EXPORT' : 'EXPORT_META_DATA', ['name', 'value']),
  );
  const capture = readCapture(await reader.small('META_DATA_CAPTURE', ['name', 'value']));
  const [session] = await reader.small('TARGET_INFO_SESSION_START_TIME', ['utcEpochNs']);
  const [details] = await reader.small('ANALYSIS_DETAILS', ['duration']);
  const host = (await reader.small('TARGET_INFO_SYSTEM_ENV', ['name', 'value'])).find(
    ({ name }) => name === 'Hostname',
  );

  const startUtc = session?.['utcEpochNs'];
  const clock = reportClock(bits64(startUtc), exported);
  reader.shiftNs = clock.shiftNs;

  for (const map of TABLE_MAPS) await reader.big(map);

  await reader.gpus();
  await reader.diagnostics();
  await reader.threads();
  const cudaProcesses = reader.cudaProcesses();
  const rank = cudaProcesses.length === 1 ? capture.rank : null;
  await reader.processes(cudaProcesses, rank);
  if (context.allTables === true) await reader.allTables();
  await reader.texts();
  await reader.tableRows(context.allTables === true);

  const duration = details?.['duration'];
  const hostName = typeof host?.['value'] === 'string' && host['value'] !== '' ? host['value'] : null;
  const memoryRows = reader.rowsOf('CUDA_GPU_MEMORY_USAGE_EVENTS');
  nsys.fact({
    row: 'report',
    form,
    productVersion: exported.productVersion,
    schemaVersion: exported.schemaVersion,
    clockOffsetNs: clock.offsetNs,
    clockOrigin: clock.origin,
    durationNs: bits64(duration),
    host: hostName,
    // Rows prove it; an option may stand for another process of the capture.
    memoryEventsCollected: memoryRows > 0 ? true : capture.memoryEvents,
    graphTrace: capture.graphTrace,
    isPartial: exported.isPartial,
    hasAllTables: context.allTables === true,
  });
  for (const option of [...exported.options, ...capture.options]) nsys.fact({ row: 'option', ...option });
  emitEnvironment(sink, capture.env, rank, hostName);
  return { rank: rank?.rank ?? null, rankOrigin: rank?.origin ?? null };
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

class Reader {
  /** Taken from every time; see `ReportClock`. */
  shiftNs = 0n;
  private readonly source: TableSource;
  private readonly known: ReadonlyMap<string, SourceTable>;
  private readonly sink: RowSink;
  private readonly nsys: NsysSink;
  private readonly used = new UsedTexts();
  private readonly rowTexts: RowTexts;
  /** Of the builders of all tables, which follow each other. */
  private readonly buffer = new ArrayBuffer(BUILDER_BYTES);
  /** Texts that hold what the job printed, by number: never kept. */
  private readonly privateTexts = new Set<number>();
  /** Rows of the tables that were read to their end. */
  private readonly counts = new Map<string, number>();
  private readonly read = new Set<string>();
  private readonly pids = new Map<number, Set<string>>();

  constructor(source: TableSource, known: ReadonlyMap<string, SourceTable>, sink: RowSink, nsys: NsysSink) {
    this.source = source;
    this.known = known;
    this.sink = sink;
    this.nsys = nsys;
    this.rowTexts = new RowTexts((texts) => nsys.texts(packTexts(texts)));
  }

  rowsOf(table: string): number {
    return this.counts.get(table) ?? 0;
  }

  /** The rows of a small table, with NULL for columns that it lacks; none if it is not there. */
  async small(name: string, columns: readonly string[]): Promise<Row[]> {
    const table = this.known.get(name);
    if (table === undefined) return [];
    const present = columns.filter((column) => table.columns.some((known) => known.name === column));
    const rows: Row[] = [];
    await this.scan(name, present, (batch) => {
      for (let row = 0; row < batch.rows && rows.length < MOST_SMALL_ROWS; row++) {
        const values: Record<string, Cell> = {};
        for (const column of columns) {
          const at = present.indexOf(column);
          values[column] = at < 0 ? null : cell(batch.columns[at]!, row);
        }
        rows.push(values);
      }
    });
    return rows;
  }

  /** A table whose rows are kept column by column. */
  async big(map: TableMap): Promise<void> {
    const table = this.known.get(map.table);
    // Without columns it cannot be read at all; why is told where its rows are counted.
    if (table === undefined || table.columns.length === 0) return;
    const present = new Map(table.columns.map(({ name }) => [name, name]));
    for (const name of map.needs) {
      if (present.has(name)) continue;
      // An export of another age, or a table of somebody's own with this name: the rest is of use without it.
      const text = `the table ${map.table} has no column ${name}, so it was not read`;
      this.sink.note({ kind: 'nsys_table_unknown', severity: 'warning', text });
      return;
    }
    const builder = new RowBuilder(map.kind, this.nsys, this.buffer);
    const { columns: layout } = NSYS_LAYOUTS[map.kind];
    const wanted: string[] = [];
    const indexOf = (name: string): number => {
      if (!present.has(name)) return -1;
      if (!wanted.includes(name)) wanted.push(name);
      return wanted.indexOf(name);
    };
    const fills = layout.flatMap(({ name }, index) => {
      const column = map.columns[name];
      if (column === undefined) return [];
      return [{ target: builder.batch.arrays[index]!, from: column.from.map(indexOf), column }];
    });
    const seq = layout.findIndex(({ name }) => name === 'seq');
    const pid = layout.findIndex(({ name }) => name === 'pid');
    const times = this.shiftNs === 0n ? [] : layout.flatMap(({ name }, i) => (name.endsWith('_ns') ? [i] : []));
    const rowText = ROW_TEXTS[map.table];
    const textFrom = rowText === undefined ? -1 : indexOf(rowText.from);
    const textTo = rowText === undefined ? -1 : layout.findIndex(({ name }) => name === rowText.to);
    const byText = map.table === 'CUDA_GPU_MEMORY_USAGE_EVENTS';

    await this.scan(map.table, wanted, (whole) => {
      for (let start = 0; start < whole.rows; ) {
        const rows = Math.min(whole.rows - start, builder.room);
        const batch = start === 0 && rows === whole.rows ? whole : part(whole, start, rows);
        const at = builder.batch.rows;
        for (const { target, from, column } of fills) {
          const sources = from.map((index) => (index < 0 ? undefined : batch.columns[index]));
          column.fill(sources, rows, target, at);
          if (column.isText === true) this.used.addColumn(target as Uint32Array, rows, at);
        }
        if (seq >= 0) for (let row = 0; row < rows; row++) builder.batch.arrays[seq]![at + row] = builder.total + row;
        if (textTo >= 0) {
          this.fillTexts(
            textFrom < 0 ? undefined : batch.columns[textFrom],
            rows,
            builder.batch.arrays[textTo] as Uint32Array,
            at,
            byText,
          );
        }
        for (const i of times) takeFrom(builder.batch.arrays[i] as Uint32Array, rows, at, this.shiftNs);
        if (pid >= 0) this.seePids(builder.batch.arrays[pid] as Int32Array, rows, at, map.table);
        builder.filled(rows);
        start += rows;
      }
    });
    builder.flush();
    this.read.add(map.table);
  }

  /** Texts of the rows themselves, as numbers. `alone`: there is no other source, so that a row without one is NULL. */
  private fillTexts(
    source: CellColumn | undefined,
    rows: number,
    target: Uint32Array,
    at: number,
    alone: boolean,
  ): void {
    for (let row = 0; row < rows; row++) {
      const text = source?.texts[row];
      const to = (at + row) * 2;
      if (source !== undefined && source.kinds[row] === CELL.text && text !== undefined && text !== '') {
        const id = this.rowTexts.number(cutText(text));
        target[to] = id | 0;
        target[to + 1] = 0xffffffff;
      } else if (alone) {
        target[to] = 0;
        target[to + 1] = NULL_HIGH;
      }
    }
  }

  private seePids(pids: Int32Array, rows: number, at: number, table: string): void {
    let last = -1;
    for (let row = at; row < at + rows; row++) {
      const pid = pids[row]!;
      if (pid === last || pid < 0) continue;
      last = pid;
      let seen = this.pids.get(pid);
      if (seen === undefined) {
        seen = new Set();
        this.pids.set(pid, seen);
      }
      seen.add(table);
    }
  }

  /** Processes that used a GPU, by number. Calls alone do not count: a launcher that asks for the number of devices makes some. */
  cudaProcesses(): number[] {
    const used = [...this.pids].filter(([, tables]) =>
      ['CUDA_GPU_MEMORY_USAGE_EVENTS', 'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY'].some((name) =>
        tables.has(name),
      ),
    );
    return used.map(([pid]) => pid).sort((a, b) => a - b);
  }

  async gpus(): Promise<void> {
    this.read.add('TARGET_INFO_GPU').add('TARGET_INFO_CUDA_DEVICE');
    const seen = new Set<number>();
    for (const row of await this.small('TARGET_INFO_GPU', ['id', 'name', 'totalMemory', 'busLocation', 'uuid'])) {
      const id = small(row['id']);
      if (id === null || seen.has(id)) continue;
      seen.add(id);
      this.nsys.fact({
        row: 'gpu',
        id,
        name: word(row['name']),
        totalBytes: whole(row['totalMemory']),
        busLocation: word(row['busLocation']),
        uuid: word(row['uuid']),
      });
    }
    for (const row of await this.small('TARGET_INFO_CUDA_DEVICE', ['gpuId', 'cudaId', 'pid'])) {
      const pid = small(row['pid']);
      const device = small(row['cudaId']);
      if (pid !== null && device !== null) this.nsys.fact({ row: 'device', pid, device, gpuId: small(row['gpuId']) });
    }
  }

  async diagnostics(): Promise<void> {
    this.read.add('DIAGNOSTIC_EVENT');
    const rows = await this.small('DIAGNOSTIC_EVENT', ['timestamp', 'severity', 'text']);
    for (const { timestamp, severity, text } of rows.slice(0, MOST_DIAGNOSTICS)) {
      if (typeof text !== 'string') continue;
      const level = whole(severity);
      const words = level === null ? 'unknown' : (SEVERITIES[level] ?? String(level));
      if (!keepsDiagnostic(words, text)) continue;
      this.nsys.fact({
        row: 'diagnostic',
        timeNs: shifted(timestamp ?? null, this.shiftNs),
        severity: words,
        text: withoutDirectories(cutText(text)),
      });
    }
    this.read.add('DIAGNOSTIC_EVENT');
  }

  /** Names of threads of the processes that did anything we keep: a capture lists every thread of the machine. */
  async threads(): Promise<void> {
    const names = await this.small('ThreadNames', ['nameId', 'globalTid']);
    const wanted = new Map<number, { pid: number; tid: number }[]>();
    for (const row of names) {
      const tid = threadNumber(row['globalTid'] ?? null);
      const pid = processNumber(row['globalTid'] ?? null);
      const nameId = whole(row['nameId']);
      if (tid === null || pid === null || nameId === null || !this.pids.has(pid)) continue;
      const list = wanted.get(nameId) ?? [];
      list.push({ pid, tid });
      wanted.set(nameId, list);
    }
    if (wanted.size === 0) return;
    await this.eachText((id, text) => {
      for (const thread of wanted.get(id) ?? []) this.nsys.fact({ row: 'thread', ...thread, name: cutText(text) });
    });
  }

  async processes(
    cuda: readonly number[],
    rank: { readonly rank: number; readonly origin: string } | null,
  ): Promise<void> {
    const names = new Map<number, string | null>();
    for (const row of await this.small('PROCESSES', ['globalPid', 'pid', 'name'])) {
      const pid = whole(row['pid']) ?? processNumber(row['globalPid'] ?? null);
      if (pid !== null && this.pids.has(pid)) names.set(pid, programName(word(row['name'])) ?? names.get(pid) ?? null);
    }
    for (const pid of [...this.pids.keys()].sort((a, b) => a - b)) {
      const own = rank !== null && cuda.includes(pid) ? rank : null;
      this.nsys.fact({
        row: 'process',
        pid,
        name: names.get(pid) ?? null,
        rank: own?.rank ?? null,
        rankOrigin: own?.origin ?? null,
      });
    }
  }

  /** The texts that rows name. They stand in a table of their own, so they are read after everything that names them. */
  async texts(): Promise<void> {
    this.rowTexts.flush();
    await this.findPrivateTexts();
    let waiting: NsysText[] = [];
    await this.eachText((id, text) => {
      if (!this.used.has(id) || this.privateTexts.has(id)) return;
      waiting.push({ id, text: cutText(text) });
      if (waiting.length < TEXTS_AT_ONCE) return;
      this.nsys.texts(packTexts(waiting));
      waiting = [];
    });
    if (waiting.length > 0) this.nsys.texts(packTexts(waiting));
  }

  private async findPrivateTexts(): Promise<void> {
    for (const [table, columns] of [
      ['ProcessStreams', ['filenameId', 'contentId']],
      ['ANALYSIS_FILE', ['contentId']],
    ] as const) {
      for (const row of await this.small(table, columns)) {
        for (const column of columns) {
          const id = whole(row[column] ?? null);
          if (id !== null) this.privateTexts.add(id);
        }
      }
    }
  }

  private async eachText(take: (id: number, text: string) => void): Promise<void> {
    const columns = this.known.get('StringIds')?.columns.map(({ name }) => name) ?? [];
    if (!columns.includes('id') || !columns.includes('value')) return;
    await this.scan('StringIds', ['id', 'value'], ({ rows, columns: [ids, values] }) => {
      for (let row = 0; row < rows; row++) {
        const text = values!.texts[row];
        const id = cell(ids!, row);
        // Below 0 are numbers of our own.
        if (text !== undefined && typeof id === 'number' && id >= 0 && Number.isSafeInteger(id)) take(id, text);
      }
    });
  }

  /** Every table as it stands, but for those that carry what is the job's own business. */
  async allTables(): Promise<void> {
    await this.findPrivateTexts();
    for (const table of this.known.values()) if (!PRIVATE_TABLES.has(table.name)) await this.copyTable(table);
    const strings = this.known.get('StringIds');
    if (strings === undefined) return;
    const id = strings.columns.findIndex(({ name }) => name === 'id');
    const value = strings.columns.findIndex(({ name }) => name === 'value');
    if (id < 0 || value < 0) return;
    await this.copyTable(strings, ({ columns }, row) => !this.isPrivate(cell(columns[id]!, row), columns[value]!, row));
  }

  /** What the job printed, and its environment, which the exporter numbers with all other texts and which no table names. */
  private isPrivate(id: Cell, values: CellColumn, row: number): boolean {
    if (typeof id !== 'number' || this.privateTexts.has(id)) return true;
    return !this.used.has(id) && ENVIRONMENT_LINE.test(values.texts[row] ?? '');
  }

  private async copyTable(table: SourceTable, keeps?: (batch: CellBatch, row: number) => boolean): Promise<void> {
    const names = table.columns.map(({ name }) => name);
    await this.nsys.rawTable(table.name, table.columns);
    await this.scan(table.name, names, (batch) => {
      const rows: number[] = [];
      for (let row = 0; row < batch.rows; row++) if (keeps?.(batch, row) !== false) rows.push(row);
      const columns = batch.columns.map((column, i) => rawColumn(table.columns[i]!.type, column, rows));
      this.nsys.raw({ table: table.name, columns, rows: rows.length });
    });
    this.read.add(table.name);
  }

  /** What there is in the export, whether it was read or not. */
  async tableRows(isAll: boolean): Promise<void> {
    for (const { name } of this.source.tables) {
      let rows = this.counts.get(name);
      if (rows === undefined) {
        const counted = await this.source.count(name);
        rows = counted.rows;
        if (counted.problem !== undefined) this.damaged(name, counted.rows, counted.problem);
      }
      this.nsys.fact({ row: 'table', name, rows, isRead: this.read.has(name) && (isAll || !PRIVATE_TABLES.has(name)) });
    }
  }

  private async scan(name: string, columns: readonly string[], take: (batch: CellBatch) => void): Promise<void> {
    const scanned = await this.source.scan(name, columns, take);
    const isFirst = !this.counts.has(name);
    this.counts.set(name, scanned.rows);
    if (!isFirst) return;
    if (scanned.problem !== undefined) this.damaged(name, scanned.rows, scanned.problem);
    if ((scanned.badTexts ?? 0) > 0) {
      const text = `texts of the table ${name} are not UTF-8; their bytes that are not were replaced`;
      this.sink.note({ kind: 'nsys_bad_text', severity: 'info', text, count: scanned.badTexts ?? 1 });
    }
  }

  private damaged(
    name: string,
    rows: number,
    problem: { readonly fact: string; readonly offset?: number | undefined },
  ): void {
    const text = `the table ${name} is damaged: ${problem.fact}; ${rows} rows before that were kept, the rest is lost`;
    this.sink.note({ kind: 'nsys_table_damaged', severity: 'warning', text, offset: problem.offset });
  }
}

function part(batch: CellBatch, start: number, rows: number): CellBatch {
  return {
    rows,
    columns: batch.columns.map(({ kinds, bits, reals, texts }) => ({
      kinds: kinds.subarray(start, start + rows),
      bits: bits.subarray(start * 2, (start + rows) * 2),
      reals: reals.subarray(start, start + rows),
      texts: texts.slice(start, start + rows),
    })),
  };
}

/** Takes `shift` from the 64-bit integers of a column that are not NULL. */
function takeFrom(column: Uint32Array, rows: number, at: number, shift: bigint): void {
  const values = new BigInt64Array(column.buffer, column.byteOffset, column.length / 2);
  for (let row = at; row < at + rows; row++) {
    const isNull = column[row * 2 + 1] === NULL_HIGH && column[row * 2] === 0;
    if (!isNull) values[row] = BigInt.asIntN(64, values[row]! - shift);
  }
}

/** One cell as a plain value; a blob, which nothing here needs, is NULL. */
function cell(column: CellColumn, row: number): Cell {
  switch (column.kinds[row]) {
    case CELL.integer: {
      const value = (column.bits[row * 2 + 1]! | 0) * 2 ** 32 + column.bits[row * 2]!;
      return Number.isSafeInteger(value) ? value : integerAt(column, row);
    }
    case CELL.real:
      return column.reals[row]!;
    case CELL.text:
      return column.texts[row] ?? null;
    default:
      return null;
  }
}

/** A time as {@link takeFrom} has it. */
function shifted(time: Cell, shift: bigint): bigint | null {
  const value = bits64(time);
  return value === null ? null : BigInt.asIntN(64, value - shift);
}

function bits64(value: Cell | undefined): bigint | null {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : null;
}

/** A number that an INTEGER column of the store holds. */
function small(value: Cell | undefined): number | null {
  return typeof value === 'number' && (value | 0) === value ? value : null;
}

function whole(value: Cell | undefined): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

function word(value: Cell | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
