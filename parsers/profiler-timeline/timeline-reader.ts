/**
 * The two JSON forms of a memory timeline, distinguished while reading: a raw timeline is a list of events of four
 * numbers, the other a list of two lists, times and sums. Rows are emitted as columns; only the times of the second
 * form are kept in memory, 8 bytes per point.
 */
import { ColumnBatch, ENUMS, LAYOUTS, NULL_U8, putI64, putNullI64 } from '../../src/model/columns.js';
import { MbfError } from '../../src/model/errors.js';
import type { Note } from '../../src/model/tables.js';

const BATCH_ROWS = 16_384;
/** 128 MiB of times, and more points than a profiler that has to hold all its events in memory can reach. */
export const MOST_POINTS = 16_777_216;
/** `ordinal` is a 32-bit column. */
const MOST_EVENTS = 2 ** 31 - 2;
/** Larger than any device's memory (1 PiB), and sums of all categories below it are exact. */
const MOST_BYTES = 2 ** 50;
const NS_PER_US = 1000n;
const MOST_TIME = 2n ** 63n - 1n;
/** The zero the plot starts from, then one sum a category. */
const SUMS = ENUMS.profiler_category.length + 1;
const DESTROY = ENUMS.profiler_action.indexOf('destroy');
const PREEXISTING_TIME = '-1';

type Form = 'undecided' | 'events' | 'sums';

export class TimelineReader {
  form: Form = 'undecided';
  /** Events, or points in time. */
  entries = 0;
  private readonly emit: (batch: ColumnBatch) => void;
  private readonly batch = new ColumnBatch(LAYOUTS.profiler_memory, BATCH_ROWS);
  private readonly ordinal = this.batch.i32('ordinal');
  private readonly time = this.batch.i64('time_ns');
  private readonly action = this.batch.u8('action');
  private readonly delta = this.batch.i64('delta_bytes');
  private readonly category = this.batch.u8('category');

  /** 0 before the document, 1 in it, 2 in an event or in the times or the sums, 3 in one row of sums. */
  private depth = 0;
  private ended = false;
  /** Lists seen at depth 2. */
  private lists = 0;
  /** Numbers of the event or row being read; of the first list while the form is undecided. */
  private readonly numbers: string[] = [];
  private times = new Float64Array(0);
  private timeCount = 0;
  /** Bytes of each category so far. */
  private readonly total = new Float64Array(ENUMS.profiler_category.length);
  private lastTimeText = '';
  private lastTime = 0n;
  private oddSigns = 0;
  private backwards = 0;

  /** `emit` must have read a batch when it returns. */
  constructor(emit: (batch: ColumnBatch) => void) {
    this.emit = emit;
  }

  get done(): boolean {
    return this.ended;
  }

  start(): void {
    if (this.ended) this.damaged('something follows its end');
    this.depth += 1;
    if (this.depth === 2) {
      this.lists += 1;
      if (this.form === 'sums' && this.lists > 2) this.odd('a third list after the times and the sums');
    } else if (this.depth === 3) {
      if (this.form === 'undecided' && this.lists === 2) this.settle('sums');
      if (this.form !== 'sums' || this.lists !== 2) this.odd('a list inside an event');
    } else if (this.depth > 3) this.odd('lists nested four deep');
    // The first list is kept until the second determines its form.
    if (!(this.form === 'undecided' && this.lists === 2)) this.numbers.length = 0;
  }

  number(text: string): void {
    if (this.depth < 2) this.odd('a number outside any list');
    if (text.length > 20) this.odd(`a number of ${text.length} digits`);
    if (this.form === 'undecided') {
      if (this.lists === 2) this.settle('events');
      else if (this.numbers.length === 4) this.settle('sums');
    }
    if (this.form === 'sums' && this.lists === 1) this.addTime(text);
    else {
      if (this.form === 'sums' && this.depth === 2) this.odd('a number among the rows of sums');
      if (this.numbers.length === (this.form === 'sums' ? SUMS : 4)) this.odd('more numbers than belong there');
      this.numbers.push(text);
    }
  }

  stop(): void {
    this.depth -= 1;
    if (this.depth === 2) this.addSums();
    else if (this.depth === 1 && this.form === 'events') this.addEvent();
    else if (this.depth === 1 && this.form === 'undecided' && this.lists === 2) {
      // Two empty lists, or times without sums.
      this.settle('sums');
    } else if (this.depth === 0) this.finishDocument();
  }

  /** To be called after the last token; throws if the document did not end. */
  finish(): Note[] {
    if (!this.ended) this.damaged('it ends in the middle');
    this.flush();
    const notes: Note[] = [];
    if (this.entries === 0) {
      const text = 'holds no event: the device that was exported allocated nothing while the profiler ran';
      notes.push({ kind: 'timeline_empty', severity: 'warning', text });
    }
    if (this.oddSigns > 0) {
      const text =
        'events with bytes of another sign than their action: creations that shrink, or destructions that grow';
      notes.push({ kind: 'timeline_signs', severity: 'warning', text, count: this.oddSigns });
    }
    if (this.backwards > 0) {
      const text = 'events earlier than the one before them; they are kept in the order of the file';
      notes.push({ kind: 'timeline_order', severity: 'info', text, count: this.backwards });
    }
    return notes;
  }

  private settle(form: 'events' | 'sums'): void {
    this.form = form;
    // What was read so far is the first event, complete, or the first times.
    if (form === 'events') this.addEvent();
    else for (const text of this.numbers) this.addTime(text);
    this.numbers.length = 0;
  }

  private finishDocument(): void {
    this.ended = true;
    if (this.form === 'undecided') {
      if (this.lists === 0) this.form = 'events';
      else this.settle('events');
    }
    if (this.form === 'sums') {
      if (this.lists < 2) this.odd('times without sums');
      if (this.entries !== this.timeCount) this.odd(`${this.timeCount} times with ${this.entries} rows of sums`);
    }
  }

  private addTime(text: string): void {
    const time = Number(text);
    if (!Number.isSafeInteger(time)) this.odd(`${text} as a time in microseconds`);
    if (this.timeCount === MOST_POINTS) {
      throw new MbfError('MBF2403', `has more than ${MOST_POINTS} points in time`);
    }
    if (this.timeCount === this.times.length) {
      const grown = new Float64Array(Math.min(MOST_POINTS, Math.max(4096, this.times.length * 2)));
      grown.set(this.times);
      this.times = grown;
    }
    this.times[this.timeCount++] = time;
  }

  private addSums(): void {
    const { numbers, total } = this;
    if (numbers.length !== SUMS) this.odd(`a row of ${numbers.length} sums, not ${SUMS}`);
    if (numbers[0] !== '0') this.odd(`a row of sums that begins with ${numbers[0]}, not 0`);
    if (this.entries === this.timeCount) this.odd('more rows of sums than times');
    // -1: nothing but what existed before, and no event to borrow a time from.
    const time = this.times[this.entries]!;
    const timeNs = time < 0 ? null : BigInt(time) * NS_PER_US;
    let changed = false;
    for (let category = 0; category < ENUMS.profiler_category.length; category += 1) {
      const sum = this.bytes(numbers[category + 1]!);
      const delta = sum - total[category]!;
      total[category] = sum;
      if (delta !== 0) {
        this.row(timeNs, NULL_U8, delta, category);
        changed = true;
      }
    }
    // Without a row the point would be missing, and the last one ends the time span.
    if (!changed) this.row(timeNs, NULL_U8, 0, 0);
    this.entries += 1;
    numbers.length = 0;
  }

  private addEvent(): void {
    const { numbers } = this;
    if (numbers.length !== 4) this.odd(`an event of ${numbers.length} numbers, not 4`);
    if (this.entries === MOST_EVENTS) throw new MbfError('MBF2403', `has more than ${MOST_EVENTS} events`);
    const [time, actionText, bytesText, categoryText] = numbers as [string, string, string, string];
    const action = Number(actionText) - 1;
    const category = Number(categoryText);
    if (ENUMS.profiler_action[action] === undefined) this.odd(`${actionText} as an action`);
    if (ENUMS.profiler_category[category] === undefined) this.odd(`${categoryText} as a category`);
    const delta = this.bytes(bytesText);
    this.total[category]! += delta;
    if (Math.abs(this.total[category]!) > MOST_BYTES)
      this.odd(`${ENUMS.profiler_category[category]} adds up to 2^50 bytes`);
    if (action === DESTROY ? delta > 0 : delta < 0 && action < 2) this.oddSigns += 1;
    this.row(time === PREEXISTING_TIME ? null : this.timeNs(time), action, delta, category);
    this.entries += 1;
    numbers.length = 0;
  }

  private timeNs(text: string): bigint {
    // Both events of a new version have the same time, as have many allocations.
    if (text === this.lastTimeText) return this.lastTime;
    const time = BigInt(text);
    if (time < 0n || time > MOST_TIME) this.odd(`${text} as a time in nanoseconds`);
    if (time < this.lastTime) this.backwards += 1;
    this.lastTimeText = text;
    this.lastTime = time;
    return time;
  }

  private bytes(text: string): number {
    const bytes = Number(text);
    if (Math.abs(bytes) > MOST_BYTES) this.odd(`${text} bytes`);
    return bytes;
  }

  private row(timeNs: bigint | null, action: number, delta: number, category: number): void {
    const { batch } = this;
    const row = batch.rows++;
    this.ordinal[row] = this.entries;
    if (timeNs === null) putNullI64(this.time, row);
    else {
      this.time[row * 2] = Number(timeNs & 0xffffffffn);
      this.time[row * 2 + 1] = Number(timeNs >> 32n);
    }
    this.action[row] = action;
    putI64(this.delta, row, delta);
    this.category[row] = category;
    if (batch.rows === BATCH_ROWS) this.flush();
  }

  private flush(): void {
    if (this.batch.rows > 0) this.emit(this.batch);
    this.batch.rows = 0;
  }

  private where(): string {
    if (this.form === 'sums') return this.lists < 2 ? `time ${this.timeCount}` : `row ${this.entries} of the sums`;
    return `event ${this.entries}`;
  }

  private odd(what: string): never {
    throw new MbfError('MBF2402', `${this.where()}: ${what}`);
  }

  private damaged(what: string): never {
    throw new MbfError('MBF2401', `${this.where()}: ${what}`);
  }
}
