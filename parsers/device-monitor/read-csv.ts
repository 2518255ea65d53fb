import { MbfError } from '../../src/model/errors.js';
import { type ClockTime, parseClockTime } from '../../src/text/clock-text.js';
import { copyOf } from '../../src/text/text-lines.js';
import type { LineReader } from './line-reader.js';
import { fieldsOf, type Meaning } from './meanings.js';
import { NO_PROCESS, type SampleWriter } from './sample-writer.js';

const QUERY_FIELDS = fieldsOf('query');
/** `--query-gpu` knows some 150 fields. */
const MOST_COLUMNS = 512;
/** Devices whose index is remembered for rows that name them by UUID only. */
const MOST_DEVICES = 1024;
/** A figure that a device does not have is written as one of nvidia-smi's own words for it. */
const FIGURE = /^(?:\[[A-Za-z /]{2,60}\]|N\/A|-?\d{1,16}(?:\.\d{1,9})?(?: ?(?:MiB|MB|%|W|C|MHz))?)$/;

interface Column {
  readonly meaning: Meaning | null;
  readonly unit: string | undefined;
}

export interface Header {
  readonly columns: readonly Column[];
  /** Columns the dictionary knows. */
  readonly known: number;
  /** Has a figure of memory, utilization, power or temperature, as opposed to a list of names. */
  readonly hasFigure: boolean;
  readonly time: number;
  readonly index: number;
  readonly uuid: number;
  readonly bus: number;
  readonly pid: number;
  readonly process: number;
}

/** A line as the header of a query: `timestamp, index, memory.used [MiB]`. Null where its cells are not field names. */
export function parseHeader(line: string): Header | null {
  if (line.length > 16_384) return null;
  const cells = line.split(',', MOST_COLUMNS + 1).map((cell) => cell.trim().replace(/^"([^"]{0,100})"$/, '$1'));
  if (cells.length > MOST_COLUMNS) return null;
  const columns = cells.map((cell): Column & { readonly isName: boolean } => {
    const match = /^([a-z][a-z_]{0,60}(?:\.[a-z_]{1,60}){0,6})(?: \[([A-Za-z%]{1,6})\])?$/.exec(cell);
    const [, name = '', unit] = match ?? [];
    return { meaning: QUERY_FIELDS.get(name) ?? null, unit, isName: match !== null };
  });
  if (!columns.every(({ isName }) => isName)) return null;
  const kinds = columns.map(({ meaning }) => meaning?.kind);
  const pid = kinds.indexOf('pid');
  // Of a process, `name` is its own.
  let process = kinds.indexOf('process');
  if (process < 0 && pid >= 0) process = cells.indexOf('name');
  return {
    columns: columns.map(({ meaning, unit }, i) => ({ meaning: i === process ? { kind: 'process' } : meaning, unit })),
    known: kinds.filter((kind) => kind !== undefined).length,
    hasFigure: kinds.some((kind) => kind === 'gauge' || kind === 'series'),
    time: kinds.indexOf('time'),
    index: kinds.indexOf('index'),
    uuid: kinds.indexOf('uuid'),
    bus: kinds.indexOf('bus'),
    pid,
    process,
  };
}

/**
 * The columns of rows without a header, where their shapes identify them: a process query has one GPU, one pid, one
 * name and one size. A device query is ambiguous: used and free memory look alike.
 */
export function guessHeader(line: string): Header | null {
  const cells = splitCells(line, 0, -1);
  const names = cells.map((cell) => {
    if (/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d\.\d{3}$/.test(cell)) return 'timestamp';
    if (/^(?:GPU|MIG)-[0-9a-f-]{36}/.test(cell)) return 'gpu_uuid';
    if (/^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d$/.test(cell)) return 'gpu_bus_id';
    if (/^\d{1,10}$/.test(cell)) return 'pid';
    if (/^(?:\d{1,9} MiB|\[N\/A\])$/.test(cell)) return 'used_gpu_memory';
    return 'process_name';
  });
  const header = parseHeader(names.join(', '));
  const isProcess = ['pid', 'used_gpu_memory'].every((name) => names.filter((other) => other === name).length === 1);
  const hasDevice = names.some((name) => name === 'gpu_uuid' || name === 'gpu_bus_id');
  const isOneEach = new Set(names).size === names.length;
  return header !== null && isProcess && hasDevice && isOneEach ? header : null;
}

/** Whether a line looks like a row of a device query without its header. */
export function looksLikeRow(line: string): boolean {
  const cells = splitCells(line, 0, -1);
  const memory = cells.filter((cell) => /^\d{1,9} MiB$/.test(cell)).length;
  const hasTime = cells.some((cell) => /^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d\.\d{3}$/.test(cell));
  return cells.length >= 3 && (memory > 0 || hasTime) && cells.filter((cell) => FIGURE.test(cell)).length >= 2;
}

/**
 * Cells of a row. nvidia-smi puts `, ` between them and quotes nothing, so that a comma in the name of a process makes
 * a cell too many: what is too much belongs to column `process`. Tables that went through another program quote cells.
 */
export function splitCells(line: string, expected: number, process: number): string[] {
  if (line.includes('"')) {
    const quoted = splitQuoted(line);
    if (quoted !== null) return quoted;
  }
  const cells: string[] = [];
  for (let from = 0; cells.length <= MOST_COLUMNS; ) {
    const comma = line.indexOf(',', from);
    cells.push(line.slice(from, comma < 0 ? undefined : comma).trim());
    if (comma < 0) break;
    from = comma + 1;
  }
  const extra = cells.length - expected;
  if (expected > 0 && extra > 0 && process >= 0) {
    cells.splice(process, extra + 1, cells.slice(process, process + extra + 1).join(', '));
  }
  return cells;
}

/** Cells of a row that quotes as RFC 4180 does; null where the quotes are part of a text. */
function splitQuoted(line: string): string[] | null {
  const cells: string[] = [];
  // White space belongs to one part only: a line of blanks would be divided in every way.
  const cell = /(?:\s{0,100}"((?:[^"]|""){0,4096})"\s{0,100}|([^",]{0,4096}))(,|$)/y;
  for (let isOpen = true; isOpen && cells.length <= MOST_COLUMNS; ) {
    const match = cell.exec(line);
    if (match === null) return null;
    cells.push((match[1]?.replaceAll('""', '"') ?? match[2] ?? '').trim());
    isOpen = match[3] === ',';
  }
  return cells;
}

/** What nvidia-smi prints in place of a row when a device or the driver is gone. */
const COMPLAINT =
  /^(?:Unable to determine the device handle for (?:gpu|GPU)|Failed to initialize NVML|NVIDIA-SMI has failed|No devices were found)/i;

/** Whether a line may occur between rows: a date that a script printed, or an error message. */
export function mayBeBetweenRows(line: string): boolean {
  return COMPLAINT.test(line) || parseClockTime(line.trim()) !== null;
}

/**
 * Rows of `nvidia-smi --query-gpu=… --format=csv` and `--query-compute-apps=…`, with as many headers as the file has.
 */
export class CsvReader implements LineReader {
  private readonly writer: SampleWriter;
  private header: Header | null;
  private headerLine = '';
  private readonly indexes = new Map<string, number>();
  /** `date` printed between the queries, for rows without a time of their own. */
  private dateLine: ClockTime | null = null;

  /** `guessed`: columns of a file without a header. */
  constructor(writer: SampleWriter, guessed: Header | null) {
    this.writer = writer;
    this.header = guessed;
    if (guessed !== null) writer.odd('monitor_guessed_header', 1, 0);
  }

  take(text: string, line: number, offset: number, isWhole: boolean): void {
    if (text.trim() === '') return;
    const { writer } = this;
    if (text === this.headerLine) return;
    const first = text.charCodeAt(0) | 32;
    // A field name begins with a letter, as few cells do.
    if ((first >= 97 && first <= 122) || first === 34) {
      const header = parseHeader(text);
      if (header !== null && header.known >= 1 && (header.hasFigure || header.known >= 2)) {
        this.header = header;
        this.headerLine = copyOf(text);
        return;
      }
      const date = parseClockTime(text.trim());
      if (date !== null) {
        this.dateLine = date;
        return;
      }
      if (COMPLAINT.test(text)) {
        writer.at(line, offset);
        writer.setTime(writer.lastTime ?? this.dateLine);
        writer.setDevice({ index: null, gpuId: undefined });
        const isGone = text.startsWith('Unable') && /lost|unknown error|requires reset/i.test(text);
        if (isGone) writer.incident('hardware', 'nvidia-smi.no-handle', writer.text(text.trim()));
        else writer.odd('monitor_complaint', line, offset);
        return;
      }
    }
    const { header } = this;
    if (header === null) {
      writer.odd('monitor_foreign', line, offset);
      return;
    }
    const { columns } = header;
    const cells = splitCells(text, columns.length, header.process);
    // A last number without its unit or its line feed may have lost digits.
    if (!isWhole && (cells.length < columns.length || /[\d.]$/.test(text))) {
      writer.odd('monitor_cut', line, offset);
      return;
    }
    if (cells.length !== columns.length) {
      writer.odd('monitor_foreign', line, offset);
      return;
    }
    const index = header.index < 0 ? null : wholeNumber(cells[header.index]!);
    const time = header.time < 0 ? this.dateLine : writer.timeOf(cells[header.time]!);
    if ((header.index >= 0 && index === null) || (header.time >= 0 && time === null)) {
      writer.odd('monitor_foreign', line, offset);
      return;
    }
    writer.at(line, offset);
    writer.setTime(time);
    const named = header.uuid >= 0 ? cells[header.uuid]! : header.bus >= 0 ? cells[header.bus]! : undefined;
    const gpuId = named === undefined || !/^[\w.:-]{3,80}$/.test(named) ? undefined : writer.text(named);
    writer.setDevice({ index: this.indexOf(index, gpuId), gpuId });
    const process =
      header.pid < 0 && header.process < 0
        ? NO_PROCESS
        : {
            pid: header.pid < 0 ? undefined : (wholeNumber(cells[header.pid]!) ?? undefined),
            name: header.process < 0 ? undefined : writer.text(cells[header.process]!),
          };
    for (let i = 0; i < columns.length; i += 1) {
      const { meaning, unit } = columns[i]!;
      if (meaning !== null) writer.field(meaning, cells[i]!, unit, process);
    }
  }

  end(): void {}

  /** Process rows name the device by its UUID; other rows of the same file may give its index. */
  private indexOf(index: number | null, gpuId: string | undefined): number | null {
    if (gpuId === undefined) return index;
    if (index === null) return this.indexes.get(gpuId) ?? null;
    if (this.indexes.size < MOST_DEVICES || this.indexes.has(gpuId)) this.indexes.set(gpuId, index);
    return index;
  }
}

export function wholeNumber(text: string): number | null {
  return /^\d{1,10}$/.test(text) ? Number(text) : null;
}

/** Thrown for a device query without its header. */
export function headerless(): MbfError {
  return new MbfError('MBF2932', 'has no header line: the column of used memory is unknown', {
    line: 1,
    offset: 0,
  });
}
