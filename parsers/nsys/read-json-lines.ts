/** The JSON export: the profiler's own events, one a line, with its strings in a table of their own. */
import { MbfError } from '../../src/model/errors.js';
import { rankFields } from '../../src/model/log-rows.js';
import { keepsDiagnostic, type NsysKind } from '../../src/model/nsys-rows.js';
import { packTexts } from '../../src/model/packed-texts.js';
import type { ByteSource, ParseContext, ParseSummary, RowSink } from '../../src/model/parser.js';
import { readEnvironment, SEVERITIES } from './capture.js';
import {
  emitEnvironment,
  emitProcesses,
  processNumber,
  programName,
  threadNumber,
  withoutDirectories,
} from './emit.js';
import { MOST_LINE_BYTES, readLines } from './json-lines.js';
import {
  COUNTED,
  id,
  integer,
  type JsonObject,
  type JsonValue,
  object,
  recognise,
  type TextNumbers,
  time,
} from './json-records.js';
import { RowBuilder } from './row-builder.js';
import { cutText, RowTexts, TextBatches, UsedTexts } from './text-numbers.js';

/** Looked for before anything is parsed: half the lines of a capture are of the scheduler. */
const TYPE = /^\s*\{\s*"Type"\s*:\s*(\d{1,6})/;
/** Those whose spelling no public file shows; see `memoryEvent`. */
const MEMORY_TYPES: ReadonlyMap<number, string> = new Map([
  [117, 'device memory'],
  [129, 'device memory pools'],
]);
/** After so many lines of which not one is a record, the file is something else. */
const MOST_FOREIGN_LINES = 1000;

/** @throws {MbfError} MBF2704 if it holds no record. */
export async function readJsonLines(source: ByteSource, sink: RowSink, context: ParseContext): Promise<ParseSummary> {
  const { nsys } = sink;
  if (nsys === undefined) throw new Error('the sink takes no export');
  const builders = new Map<NsysKind, RowBuilder>();
  const counts = new Map<string, number>();
  const read = new Set<string>();
  const used = new UsedTexts();
  const recordTexts = new RowTexts((texts) => nsys.texts(packTexts(texts)));
  const strings = new Map<number, string>();
  const threads: { pid: number; tid: number; name: number }[] = [];
  const processes = new Map<number, { readonly name: string | null; readonly environment: number | null }>();
  const pids = new Set<number>();
  const devicePids = new Set<number>();
  /** Records by type whose spelling is not known. */
  const unknown = new Map<number, number>();
  let records = 0;
  let lines = 0;

  const texts: TextNumbers = {
    indexed(value) {
      const number = integer(value);
      if (number === null || number < 0n || number > 0x7fffffffn) return null;
      used.add(Number(number));
      return Number(number);
    },
    own: (value) => (typeof value === 'string' && value !== '' ? recordTexts.number(cutText(value)) : null),
  };
  const count = (table: string): void => void counts.set(table, (counts.get(table) ?? 0) + 1);

  for await (const { text, line, offset } of readLines(source, context.progress, (longLine, longOffset) => {
    const fact = `a line is longer than ${MOST_LINE_BYTES} bytes and was passed over`;
    sink.note({ kind: 'nsys_line_broken', severity: 'warning', text: fact, line: longLine, offset: longOffset });
  })) {
    lines += 1;
    if (records === 0 && strings.size === 0 && lines > MOST_FOREIGN_LINES) break;
    const type = Number(TYPE.exec(text.length > 64 ? text.slice(0, 64) : text)?.[1] ?? -1);
    const counted = COUNTED.get(type);
    if (counted !== undefined) {
      count(counted);
      records += 1;
      continue;
    }
    const record = parse(text);
    if (record === undefined) {
      const fact = text.trimStart().startsWith('{')
        ? 'a line is not a complete JSON object'
        : 'a line is not a JSON object';
      sink.note({ kind: 'nsys_line_broken', severity: 'warning', text: `${fact}; it was passed over`, line, offset });
      continue;
    }
    const number = Number(integer(record['Type']) ?? -1n);
    if (number < 0) {
      takeStrings(record);
      continue;
    }
    records += 1;
    if (number === 27) takeProcess(object(record['CommEvent']));
    else if (number === 49) takeDiagnostic(object(record['DiagnosticEvent']));
    else {
      const row = recognise(number, record, texts);
      if (row === undefined) {
        if (MEMORY_TYPES.has(number)) unknown.set(number, (unknown.get(number) ?? 0) + 1);
        continue;
      }
      count(row.table);
      if (row.fields === null) continue;
      read.add(row.table);
      let builder = builders.get(row.kind);
      if (builder === undefined) {
        builder = new RowBuilder(row.kind, nsys);
        builders.set(row.kind, builder);
      }
      builder.add(row.fields);
      const { pid } = row.fields;
      if (typeof pid === 'number') {
        pids.add(pid);
        if (row.kind === 'kernel' || row.kind === 'copy' || row.kind === 'memory') devicePids.add(pid);
      }
    }
  }
  for (const [number, rows] of unknown) {
    const text = `records of type ${number} (${MEMORY_TYPES.get(number)}) without the fields that make one were passed over`;
    sink.note({ kind: 'nsys_record_unknown', severity: 'warning', text, count: rows });
  }
  if (records === 0) throw new MbfError('MBF2704', 'holds no record of Nsight Systems');

  for (const builder of builders.values()) builder.flush();
  recordTexts.flush();
  const batches = new TextBatches((texts) => nsys.texts(packTexts(texts)));
  for (const [index, text] of strings) if (used.has(index)) batches.add(index, cutText(text));
  batches.flush();
  for (const { pid, tid, name } of threads) {
    const text = strings.get(name);
    if (text !== undefined && pids.has(pid)) nsys.fact({ row: 'thread', pid, tid, name: cutText(text) });
  }
  const environment = [...devicePids]
    .map((pid) => strings.get(processes.get(pid)?.environment ?? -1) ?? '')
    .find((text) => text.includes('='));
  const { env, rank: found } = readEnvironment((environment ?? '').split(/[\n\0]/));
  const rank = devicePids.size === 1 ? found : null;
  emitProcesses(nsys, pids, (pid) => processes.get(pid)?.name, [...devicePids], rank);
  for (const [name, rows] of [...counts].sort(([a], [b]) => (a < b ? -1 : 1)))
    nsys.fact({ row: 'table', name, rowCount: rows, isRead: read.has(name) });
  if (context.allTables === true) {
    const names = [...counts.keys()].filter((name) => !read.has(name)).sort();
    const left = names.length === 0 ? '' : `; records not kept: ${names.join(', ')}`;
    const text = `a JSON export has records instead of tables, so none is copied${left}`;
    sink.note({ kind: 'nsys_tables_not_kept', severity: 'info', text });
  }
  nsys.fact({
    row: 'report',
    form: 'jsonlines',
    productVersion: null,
    schemaVersion: null,
    clockOffsetNs: null,
    clockOrigin: null,
    durationNs: null,
    host: null,
    memoryEventsCollected: counts.has('CUDA_GPU_MEMORY_USAGE_EVENTS') ? true : null,
    graphTrace: null,
    isPartial: false,
    hasAllTables: false,
  });
  emitEnvironment(sink, env, rank, null);
  return rankFields(rank);

  /** The string table and the names of threads have the same shape; a string of its own is the older spelling. */
  function takeStrings(record: JsonObject): void {
    const { data } = record;
    if (record['type'] === 'String') {
      const index = integer(record['id']);
      if (index !== null && typeof record['value'] === 'string') strings.set(Number(index), record['value']);
      return;
    }
    if (!Array.isArray(data)) return;
    (data as readonly JsonValue[]).forEach((entry, index) => {
      if (typeof entry === 'string') strings.set(index, entry);
      const name = object(entry);
      const pid = processNumber(id(name?.['globalTid']));
      const tid = threadNumber(id(name?.['globalTid']));
      const text = integer(name?.['nameIdx']);
      if (pid !== null && tid !== null && text !== null) threads.push({ pid, tid, name: Number(text) });
    });
  }

  /** Every process of the machine; only those that used a GPU are kept, and of their command lines nothing. */
  function takeProcess(event: JsonObject | undefined): void {
    count('PROCESSES');
    const pid = processNumber(id(event?.['GlobalPid']));
    if (pid === null || event === undefined) return;
    const known = processes.get(pid);
    const name = event['Commname'] ?? event['Command'];
    const environment = integer(event['EnvironId']);
    processes.set(pid, {
      name: typeof name === 'string' ? programName(name) : (known?.name ?? null),
      environment: environment === null ? (known?.environment ?? null) : Number(environment),
    });
  }

  function takeDiagnostic(event: JsonObject | undefined): void {
    count('DIAGNOSTIC_EVENT');
    read.add('DIAGNOSTIC_EVENT');
    const text = event?.['Text'];
    if (typeof text !== 'string' || event === undefined) return;
    const level = String(event['Level'] ?? 'unknown').toLowerCase();
    const severity = SEVERITIES.includes(level) ? level : 'unknown';
    const at = time(event['Timestamp']);
    const timeNs = at === null ? null : BigInt.asIntN(64, at);
    if (!keepsDiagnostic(severity, text)) return;
    nsys!.fact({ row: 'diagnostic', timeNs, severity, text: withoutDirectories(cutText(text)) });
  }
}

function parse(text: string): JsonObject | undefined {
  try {
    return object(JSON.parse(text) as JsonValue);
  } catch {
    return undefined;
  }
}
