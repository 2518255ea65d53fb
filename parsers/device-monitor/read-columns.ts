import type { LineReader } from './line-reader.js';
import { fieldsOf, type Meaning } from './meanings.js';
import { wholeNumber } from './read-csv.js';
import { NO_PROCESS, type SampleWriter } from './sample-writer.js';

const DMON_COLUMNS = fieldsOf('dmon');
const PMON_COLUMNS = fieldsOf('pmon');
const DCGMI_COLUMNS = fieldsOf('dcgmi');
const MOST_COLUMNS = 256;

/** First line of a header of `nvidia-smi dmon` or `pmon`, with date and time where `-o DT` asked for them. */
export const DMON_HEADER = /^#\s{0,4}(?:Date[\s,]{1,20})?(?:Time[\s,]{1,20})?gpu[\s,]/i;
/** Second line of it, with the units. */
export const DMON_UNITS = /^#\s{0,4}(?:YYYYMMDD[\s,]{1,20})?(?:HH:MM:SS[\s,]{1,20})?Idx[\s,]/i;
/** First line of a header of `dcgmi dmon`; the second begins with `ID`. */
export const DCGMI_HEADER = /^#\s?Entity\s/;
/** A row of it: an entity and its number. */
export const DCGMI_ROW = /^\s{0,8}(GPU|GPU-I|GPU-CI|CPU|CPU-Core|Switch|Link)[ -](\d{1,5})\s{1,40}(\S.{0,4000})$/;

/** Rows of `nvidia-smi dmon` and `pmon`: columns by white space, or by commas with `--format csv`. */
export class DmonReader implements LineReader {
  private readonly writer: SampleWriter;
  private names: readonly string[] = [];
  private meanings: readonly (Meaning | undefined)[] = [];
  private isPmon = false;

  constructor(writer: SampleWriter) {
    this.writer = writer;
  }

  take(text: string, line: number, offset: number, isWhole: boolean): void {
    if (text.trim() === '' || DMON_UNITS.test(text)) return;
    const { writer } = this;
    if (DMON_HEADER.test(text)) {
      this.names = text
        .replace('#', '')
        .trim()
        .split(/[\s,]+/, MOST_COLUMNS)
        .map((name) => name.toLowerCase());
      this.isPmon = this.names.includes('pid');
      const columns = this.isPmon ? PMON_COLUMNS : DMON_COLUMNS;
      this.meanings = this.names.map((name) => columns.get(name));
      return;
    }
    const { names, meanings } = this;
    const cells = text
      .trim()
      .split(text.includes(',') ? ',' : /\s+/, MOST_COLUMNS * 2)
      .map((cell) => cell.trim());
    // The last column of pmon is the command, and whatever it holds.
    if (this.isPmon && cells.length > names.length)
      cells.splice(names.length - 1, cells.length, cells.slice(names.length - 1).join(' '));
    if (!isWhole) {
      // Its last figure may have lost digits.
      writer.odd('monitor_cut', line, offset);
      return;
    }
    const gpu = names.indexOf('gpu');
    const index = wholeNumber(cells[gpu] ?? '');
    if (names.length === 0 || cells.length !== names.length || index === null) {
      writer.odd('monitor_foreign', line, offset);
      return;
    }
    const date = names.indexOf('date');
    const time = names.indexOf('time');
    writer.at(line, offset);
    writer.setTime(date < 0 || time < 0 ? null : writer.timeOf(`${cells[date]} ${cells[time]}`));
    writer.setDevice({ index, gpuId: undefined });
    const process = this.isPmon
      ? { pid: wholeNumber(cells[names.indexOf('pid')] ?? '') ?? undefined, name: writer.text(cells.at(-1)!) }
      : NO_PROCESS;
    // pmon has a row for a device without a process.
    if (this.isPmon && process.pid === undefined) return;
    meanings.forEach((meaning, i) => {
      if (meaning !== undefined) writer.field(meaning, cells[i]!, 'MB', process);
    });
  }

  end(): void {}
}

/** Rows of `dcgmi dmon`, which print no time. */
export class DcgmiReader implements LineReader {
  private readonly writer: SampleWriter;
  private meanings: readonly (Meaning | undefined)[] = [];

  constructor(writer: SampleWriter) {
    this.writer = writer;
  }

  take(text: string, line: number, offset: number, isWhole: boolean): void {
    if (text.trim() === '' || /^\s{0,8}I[Dd](?:\s|$)/.test(text)) return;
    const { writer } = this;
    if (DCGMI_HEADER.test(text)) {
      const [, ...names] = text.replace(/^#\s?/, '').trim().split(/\s+/, MOST_COLUMNS);
      this.meanings = names.map((name) => DCGMI_COLUMNS.get(name));
      return;
    }
    const row = DCGMI_ROW.exec(text);
    const cells = row === null ? [] : row[3]!.trim().split(/\s+/, MOST_COLUMNS);
    if (!isWhole) {
      writer.odd('monitor_cut', line, offset);
      return;
    }
    if (row === null || cells.length !== this.meanings.length) {
      // The tool prints why it stops.
      if (!text.startsWith('dmon was stopped')) writer.odd('monitor_foreign', line, offset);
      return;
    }
    const [, entity, number] = row;
    if (entity !== 'GPU' && entity !== 'GPU-I') return;
    writer.at(line, offset);
    // An instance of a divided device is none of the node's devices.
    writer.setDevice(
      entity === 'GPU' ? { index: Number(number), gpuId: undefined } : { index: null, gpuId: `GPU-I ${number}` },
    );
    this.meanings.forEach((meaning, i) => {
      if (meaning !== undefined) writer.field(meaning, cells[i]!, 'MB');
    });
  }

  end(): void {}
}
