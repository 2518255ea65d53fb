import { oomGrammar } from '../../src/knowledge/oom-messages.js';
import { remember } from '../../src/model/group-by.js';
import type { AttemptRow, KeptFinding, LogPlace } from '../../src/model/log-rows.js';
import type { ByteSource } from '../../src/model/parser.js';
import type { IncidentRow, Note } from '../../src/model/tables.js';
import { LOOK_BACK_LINES, MessageAssembly, type PassedLine, type Segment } from './assembly.js';
import { AttemptTracker } from './attempts.js';
import { cleanText } from './clean-text.js';
import { ANCHORS, type FoundMessage, findMessages } from './find-messages.js';
import { FormatReader } from './format-reader.js';
import type { LogFormat } from './formats/contract.js';
import { LOG_FORMATS } from './formats/index.js';
import { IncidentJoiner } from './join-incidents.js';
import { LineTemplates } from './line-template.js';
import { LiteralScanner } from './literal-scanner.js';
import { LocalRanks } from './local-ranks.js';
import { parseLogTime } from './log-time.js';
import { mayHaveTemplate } from './make-template.js';
import { type PrefixRule, SRUN_LABEL } from './prefix-rules.js';
import { mayName, type NamedProcess, PROCESS_ANCHORS, ProcessNames } from './process-names.js';
import { RankTally } from './rank-tally.js';
import { findLineLabel, type LinePrefix, stripPrefix } from './strip-prefix.js';
import { FRAME_ANCHORS, TRACEBACK_ANCHORS, TracebackAssembly } from './tracebacks.js';

const LF = 10;
const CR = 13;
const BUFFER_BYTES = 1024 * 1024;
/** A longer line is read in parts of this size, which the assembly joins as it joins wrapped lines. */
const PART_BYTES = 8192;
/** Bytes kept before the reading position, for the lines before a message. */
const LOOK_BACK_BYTES = 4 * PART_BYTES;
/** Bytes looked at to see whether a label like that of `srun --label` numbers the lines. */
const LABEL_SAMPLE_BYTES = 262_144;

/** A whole line of bash, too short to be searched for with the literals. */
const KILLED = Buffer.from('\nKilled');
const KILLED_FORMATS: readonly LogFormat[] = LOG_FORMATS.filter(({ id }) => id === 'process.killed');

const ASSERT_BIT = 1 << 30;
const TRACEBACK_BIT = 1 << 29;
/** An exception class; a message of the grammar may follow it on the same line. */
const EXCEPTION_BIT = 1 << 28;
/** A frame of a traceback. */
const FRAME_BIT = 1 << 27;
/** No family of the message grammar. */
const NOT_A_FAMILY = ASSERT_BIT | TRACEBACK_BIT | FRAME_BIT;

/** What the bytes are scanned for: parts of failure messages, and what the lines of a format contain. */
interface Literal {
  readonly literal: string;
  /**
   * Families of the message grammar it may begin, {@link ASSERT_BIT}, {@link TRACEBACK_BIT}, {@link EXCEPTION_BIT},
   * {@link FRAME_BIT}.
   */
  readonly mask: number;
  readonly formats: readonly LogFormat[];
  /** Whether a line with it may have a template. */
  readonly isLearnt: boolean;
}

function literalsOf(formats: readonly LogFormat[]): readonly Literal[] {
  const literals = new Map<string, { mask: number; formats: LogFormat[] }>();
  const of = (literal: string) => {
    const known = literals.get(literal) ?? { mask: 0, formats: [] };
    literals.set(literal, known);
    return known;
  };
  for (const { literal, mask } of ANCHORS) of(literal).mask |= mask;
  for (const literal of oomGrammar().device_assert_anchors) of(literal).mask |= ASSERT_BIT;
  for (const literal of PROCESS_ANCHORS) of(literal);
  for (const literal of TRACEBACK_ANCHORS) of(literal).mask |= TRACEBACK_BIT;
  for (const literal of FRAME_ANCHORS) of(literal).mask |= FRAME_BIT;
  for (const format of formats) for (const anchor of format.anchors) of(anchor).formats.push(format);
  for (const [literal, entry] of literals) if (/(?:Error|Exception): $/.test(literal)) entry.mask |= EXCEPTION_BIT;
  return [...literals].map(([literal, { mask, formats: found }]) => ({
    literal,
    mask,
    formats: found,
    isLearnt: mask === 0 && found.length > 0 && found.every(mayHaveTemplate),
  }));
}

/**
 * What a log is searched for: the literals of the failure grammar, and those of some formats. Making one costs as much
 * as reading a small log.
 */
export interface LogVocabulary {
  readonly literals: readonly Literal[];
  readonly scanner: LiteralScanner;
  /** Of its formats, in the order in which they are tried. */
  readonly places: ReadonlyMap<LogFormat, number>;
  /** Where one of the literals with digits is, or would be if numbers were others. */
  readonly withDigits: RegExp;
  /** Whether lines are read by templates: the same rows, faster. */
  readonly hasTemplates: boolean;
}

export function logVocabulary(formats: readonly LogFormat[], hasTemplates = true): LogVocabulary {
  const literals = literalsOf(formats);
  const texts = literals.map(({ literal }) => literal);
  const withDigits = texts.filter((literal) => /\d/.test(literal));
  const shapes = withDigits.map((literal) =>
    literal.replaceAll(/[^\w\s]/g, '\\$&').replaceAll(/(?<! ) *\d+/g, '(?:(?<! ) +|(?<![ \\d]))\\d+'),
  );
  return {
    literals,
    scanner: new LiteralScanner(texts),
    places: new Map(formats.map((format, place) => [format, place])),
    withDigits: new RegExp([...new Set(shapes), '(?!)'].join('|')),
    hasTemplates,
  };
}
const MOST_REMEMBERED = 64;

/** Whether a line begins a traceback or contains the message of a failure; a hint about memory is none. */
class Trouble {
  /** All ranks print one message: what was found in the last texts. */
  private readonly known = new Map<string, readonly FoundMessage[]>();

  isIn(segment: Segment, mask: number): boolean {
    if ((mask & (ASSERT_BIT | TRACEBACK_BIT)) !== 0) return true;
    const { text } = segment;
    segment.found = remember(this.known, MOST_REMEMBERED, `${mask} ${text}`, () => findMessages([text], mask));
    return segment.found.some(({ kind }) => kind !== 'negative_text' && kind !== 'note');
  }
}

const EVERYTHING = logVocabulary(LOG_FORMATS);
const NO_FORMATS: readonly LogFormat[] = [];

export interface LogOutput {
  incident(row: IncidentRow): void;
  note(note: Note): void;
  /** The finding may be changed after the call: one that stays must be a copy. */
  logRow?(finding: KeptFinding, place: LogPlace): void;
  attempt?(row: AttemptRow): void;
  progress?(bytes: number): void;
  /**
   * Every line, and every record of a format: what `formats explain` counts. Asking for it makes the reader decode
   * every line.
   */
  explain?: {
    line(segment: Segment): void;
    matched(format: LogFormat, segment: Segment): void;
    joined(segment: Segment): void;
  };
}

/**
 * Reads a log of any size in one pass and constant memory. Bytes are scanned for the grammar's anchors before anything
 * is decoded; only lines around a hit become strings.
 */
export async function readLog(
  source: ByteSource,
  output: LogOutput,
  vocabulary: LogVocabulary = EVERYTHING,
): Promise<RankTally> {
  const reader = new LogReader(output, vocabulary);
  for (;;) {
    const start = reader.makeSpace();
    const count = await source.read(reader.buffer, start);
    if (count === 0) break;
    reader.take(count);
    output.progress?.(reader.bytesRead);
  }
  reader.finish();
  return reader.tally;
}

/** {@link readLog} of a text in memory. */
export function readLogBytes(bytes: Uint8Array, output: LogOutput, vocabulary: LogVocabulary = EVERYTHING): RankTally {
  const reader = new LogReader(output, vocabulary);
  for (let from = 0; from < bytes.length; ) {
    const start = reader.makeSpace();
    const count = Math.min(bytes.length - from, reader.buffer.length - start);
    reader.buffer.set(bytes.subarray(from, from + count), start);
    reader.take(count);
    from += count;
  }
  reader.finish();
  return reader.tally;
}

class LogReader {
  readonly buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  readonly tally = new RankTally();
  private readonly assembly: MessageAssembly;
  private readonly tracebacks: TracebackAssembly;
  private readonly formats: FormatReader;
  private readonly joiner: IncidentJoiner;
  private readonly attempts: AttemptTracker;
  private readonly localRanks = new LocalRanks();
  /** Lines of the last iterations. */
  private readonly iterations = new Float64Array(64);
  private iterationCount = 0;
  private readonly processes = new ProcessNames();
  private readonly trouble = new Trouble();
  private readonly output: LogOutput;
  private readonly literals: readonly Literal[];
  private readonly scanner: LiteralScanner;
  private readonly places: LogVocabulary['places'];
  private readonly withDigits: RegExp;
  private readonly templates: LineTemplates | null;
  /** File offset of the line without a template; of the line that begins behind the one read last. */
  private unknownAt = -1;
  private freshAt = 0;
  private readonly reportedKinds = new Set<string>();
  /** Bytes in the buffer, the next one to look at, and how far back a line may begin again. */
  private end = 0;
  private position = 0;
  private floor = 0;
  /** File offset of the buffer's first byte, and line number at `position`. */
  private base = 0;
  private line = 1;
  private label: PrefixRule | null | undefined;
  /** Next anchor at or after `position`, its literals and families; -1: none before the limit. */
  private hit = -2;
  private hitLiterals: readonly number[] = [];
  private hitMask = 0;
  /** Next hit of the scanner alone; infinite: none before the limit. */
  private scanned = -1;
  /** Of the line whose part was read last, if that was not the line's last part. */
  private linePrefix: LinePrefix | null = null;
  private feedAt = -1;
  private returnAt = -1;
  /** Next line that begins with {@link KILLED}; the index of its literal. */
  private killedAt = -1;
  private readonly killed: readonly number[];

  constructor(output: LogOutput, { literals, scanner, places, withDigits, hasTemplates }: LogVocabulary) {
    this.output = output;
    this.literals = [...literals, { literal: 'Killed', mask: 0, formats: KILLED_FORMATS, isLearnt: false }];
    this.killed = [literals.length];
    this.scanner = scanner;
    this.places = places;
    this.withDigits = withDigits;
    this.templates = hasTemplates && output.explain === undefined ? new LineTemplates(this.buffer) : null;
    this.attempts = new AttemptTracker((row) => output.attempt?.(row));
    this.assembly = new MessageAssembly(
      (row) => {
        if (row.kind !== 'negative_text') this.attempts.trouble(row.line);
        this.joiner.message({ ...row, attempt: this.attempts.at(row.line), timeUs: parseLogTime(row.timeText) });
      },
      (note) => output.note(note),
      (line) => this.segmentOf(line),
    );
    const report = (row: IncidentRow): void => {
      for (const { pid } of row.processes) if (this.processes.want(pid)) this.lookBackFor(pid);
      output.incident(row);
    };
    this.joiner = new IncidentJoiner(report, {
      attemptAt: (line) => this.attempts.at(line),
      wentOn: (from, to) => this.iterations.some((line) => line > from && line < to),
      localRanks: this.localRanks,
      tasksAreNodes: () => this.formats.tasksAreNodes,
    });
    this.tracebacks = new TracebackAssembly((traceback) => this.joiner.traceback(traceback));
    const { explain } = output;
    this.formats = new FormatReader(
      {
        row: (finding, place, { prefix: { localRank, host } }) => {
          if (localRank !== null && place.rank !== null && finding.row === 'memory' && finding.rank !== undefined)
            this.localRanks.learn(place.attempt, host, localRank, place.rank);
          if (finding.row === 'iteration') this.iterations[this.iterationCount++ % this.iterations.length] = place.line;
          output.logRow?.(finding, place);
        },
        failure: (finding, place, segment) => this.joiner.failure(finding, place, segment),
        far: ({ line, iteration, neighbour }) =>
          output.note({
            kind: 'far_iteration',
            text: `Iteration ${iteration} is far from its neighbours (${neighbour}); it is not used.`,
            severity: 'info',
            line,
          }),
        ...(explain === undefined ? {} : { matched: explain.matched, joined: explain.joined }),
      },
      this.attempts,
    );
  }

  get bytesRead(): number {
    return this.base + this.end;
  }

  /** Moves what is still needed to the front of the buffer; returns where to read to. */
  makeSpace(): number {
    const keep = Math.max(this.floor, this.position - LOOK_BACK_BYTES, 0);
    if (keep > 0 && this.end > this.buffer.length / 2) {
      this.assembly.settle();
      this.buffer.copyWithin(0, keep, this.end);
      this.base += keep;
      this.end -= keep;
      this.position -= keep;
      this.floor -= keep;
      this.hit = -2;
      this.scanned = -1;
    }
    return this.end;
  }

  take(count: number): void {
    this.end += count;
    // Nothing is read before there is a sample to distinguish a label from an enumeration.
    if (this.label === undefined && this.end < LABEL_SAMPLE_BYTES) return;
    const lastBreak = this.buffer.lastIndexOf(LF, this.end - 1);
    if (lastBreak >= this.position) this.work(lastBreak + 1);
    // One line fills the buffer: read on inside it, leaving what an anchor or a part may still need.
    if (this.end - this.position > this.buffer.length - PART_BYTES * 8) this.work(this.end - PART_BYTES * 2);
  }

  finish(): void {
    this.work(this.end);
    this.formats.end();
    this.tracebacks.end();
    this.assembly.end();
    this.joiner.end();
    const trainer = this.processes.generatingTrainer();
    for (const process of this.processes.found()) this.nameProcess('process.name', process);
    if (trainer !== undefined) this.nameProcess('process.generating_trainer', trainer);
  }

  private nameProcess(figure: string, { pid, name, ...place }: NamedProcess): void {
    this.output.logRow?.(
      { row: 'value', name: figure, value: pid, unit: 'pid', text: name },
      {
        ...place,
        attempt: this.attempts.at(place.line),
        rankOrigin: null,
        device: null,
        timeUs: null,
        format: 'process.name',
      },
    );
  }

  private noteOnce(kind: string, text: string): void {
    if (this.reportedKinds.has(kind)) return;
    this.reportedKinds.add(kind);
    this.output.note({ kind, text, severity: 'info', line: this.line, offset: this.base + this.position });
  }

  /** Lines without an anchor are not decoded: reads the last buffered one with Ray's prefix of a process. */
  private lookBackFor(pid: number): void {
    const { buffer, position } = this;
    const inPrefix = (end: string): number => buffer.lastIndexOf(` pid=${pid}${end}`, position);
    const at = Math.max(inPrefix(','), inPrefix(')'));
    if (at < 0) return;
    const start = buffer.lastIndexOf(LF, at) + 1;
    const stop = Math.min(buffer.indexOf(LF, at), at + PART_BYTES);
    const text = cleanText(buffer, start, stop < at ? position : stop);
    const prefix = stripPrefix(text, this.label ?? null);
    let line = this.line;
    for (let feed = buffer.indexOf(LF, at); feed >= 0 && feed < position; feed = buffer.indexOf(LF, feed + 1))
      line -= 1;
    this.processes.see({ text: text.slice(prefix.end), prefix, line, offset: this.base + start });
  }

  /** Reads everything that begins before `limit`. */
  private work(limit: number): void {
    if (this.label === undefined) {
      const sample = cleanText(this.buffer, 0, Math.min(this.end, LABEL_SAMPLE_BYTES));
      this.label = findLineLabel(sample.split(/[\r\n]+/));
      this.tally.srunLabelled = this.label === SRUN_LABEL;
      this.tally.look(this.buffer, 0, this.end);
    }
    this.hit = -2;
    this.scanned = -1;
    this.killedAt = -1;
    this.feedAt = -1;
    this.returnAt = -1;
    while (this.position < limit) {
      if (!this.open) {
        if (this.readTemplate(limit)) continue;
        if (!this.skipToHit(limit)) return;
        if (this.literals[this.hitLiterals[0]!]!.isLearnt && this.readTemplate(limit)) continue;
      }
      this.readPart(limit);
    }
  }

  /** Whether the next line matters regardless of its content. */
  private get open(): boolean {
    return this.assembly.open || this.tracebacks.open || this.formats.open || this.output.explain !== undefined;
  }

  private findHit(limit: number): void {
    if (this.hit !== -1 && this.hit < this.position) this.scanFrom(this.position, limit);
  }

  private scanFrom(from: number, limit: number): void {
    // What was scanned without a hit is not scanned again: a log may have ten thousand lines of `Killed` alone.
    if (this.scanned < from) {
      const at = this.scanner.next(this.buffer, from, limit, this.end);
      this.scanned = at < 0 ? Number.POSITIVE_INFINITY : at;
    }
    if (this.killedAt < from) {
      const at = this.buffer.subarray(0, this.end).indexOf(KILLED, Math.max(0, from - 1));
      const isFirst = from === 0 && this.buffer.subarray(0, KILLED.length - 1).equals(KILLED.subarray(1));
      this.killedAt = isFirst ? 0 : at < 0 ? Number.POSITIVE_INFINITY : at + 1;
    }
    const isKilled = this.killedAt < limit && this.killedAt < this.scanned;
    this.hit = isKilled ? this.killedAt : Number.isFinite(this.scanned) ? this.scanned : -1;
    this.hitLiterals = isKilled ? this.killed : this.scanner.found;
    this.hitMask = 0;
    if (this.hit >= 0) for (const index of this.hitLiterals) this.hitMask |= this.literals[index]!.mask;
  }

  /**
   * Goes to the line of the next anchor, or {@link LOOK_BACK_LINES} lines before it where it may be inside a message;
   * false if there is none, all of it then being passed.
   */
  private skipToHit(limit: number): boolean {
    const from = this.position;
    this.findHit(limit);
    const target = this.hit < 0 ? limit : this.hit;
    this.line += this.tally.countLines(this.buffer, from, target, this.end);
    this.position = target;
    this.linePrefix = null;
    if (this.hit < 0) return false;
    const mostBack = (this.hitMask & ~NOT_A_FAMILY) === 0 ? 0 : LOOK_BACK_LINES;
    for (let back = 0; back <= mostBack; back += 1) {
      const stop = Math.max(this.floor, target - LOOK_BACK_BYTES, this.position - PART_BYTES);
      if (this.position <= stop) break;
      // The first step goes to the beginning of the anchor's own line, the others over one line feed each.
      const search = this.position - (back === 0 ? 1 : 2);
      const previous = search < stop ? -1 : this.buffer.lastIndexOf(LF, search);
      const start = previous < stop ? stop : previous + 1;
      if (start >= this.position && back > 0) break;
      if (back > 0) this.line -= 1;
      this.position = start;
      if (previous < stop) break;
    }
    return true;
  }

  /**
   * The next line feed at or after `position`, else the end; and the next carriage return. Cached: parts of one long
   * line ask often.
   */
  private findBreaks(): void {
    const { buffer, position, end } = this;
    if (this.feedAt < position) {
      const at = buffer.indexOf(LF, position);
      this.feedAt = at < 0 || at >= end ? end : at;
    }
    if (this.returnAt < position) {
      const at = buffer.subarray(0, end).indexOf(CR, position);
      this.returnAt = at < 0 ? Number.POSITIVE_INFINITY : at;
    }
  }

  /** Reads the next line by its template; false if it has none, or begins elsewhere. */
  private readTemplate(limit: number): boolean {
    const { templates, buffer, position } = this;
    const offset = this.base + position;
    if (templates === null || offset === this.unknownAt) return false;
    if (offset !== this.freshAt && (position === 0 || buffer[position - 1] !== LF)) return false;
    const template = templates.find(position, limit);
    if (template === null) {
      this.unknownAt = offset;
      return false;
    }
    const next = templates.end + 1;
    const { line } = this;
    const nextOffset = this.base + next;
    const passed: PassedLine = { line, offset, nextOffset };
    const prefix = templates.prefix(template, () => {
      const segment = this.segmentOf(passed);
      this.processes.see(segment);
      return segment.prefix;
    });
    this.assembly.pass(passed);
    this.tracebacks.pass();
    // Spreading takes longer than all else.
    const segment = { text: '', prefix, line, offset, nextOffset, mask: 0, deviceAssert: false, continues: false };
    this.formats.feedRecords(segment, templates.take(template));
    this.line += this.tally.countLine(buffer, next, this.end);
    this.linePrefix = null;
    this.position = next;
    this.floor = next;
    this.freshAt = nextOffset;
    return true;
  }

  /** A line that was read by its template. */
  private segmentOf(line: PassedLine): Segment {
    const start = line.offset - this.base;
    let stop = line.nextOffset - this.base - 1;
    if (stop > start && this.buffer[stop - 1] === CR) stop -= 1;
    const text = cleanText(this.buffer, start, stop);
    const prefix = stripPrefix(text, this.label);
    return { ...line, text: text.slice(prefix.end), prefix, mask: 0, deviceAssert: false, continues: false };
  }

  /** `[start, stop)` was read without a template; none of the literals in it is one of a failure. */
  private learn(text: string, start: number, stop: number): void {
    const { buffer, label = null } = this;
    this.templates!.learn(start, buffer[stop] === CR ? stop + 1 : stop, () => {
      // The scanner is used for other texts now.
      this.hit = -2;
      this.scanned = -1;
      const isPlain = buffer.toString('utf8', start, stop) === text && !this.withDigits.test(text) && !mayName(text);
      return isPlain ? { text, label, formatsOf: (other) => this.formatsOf(other) } : null;
    });
  }

  /** The formats whose literals a text has; null where one of them is not learned. */
  private formatsOf(text: string): readonly LogFormat[] | null {
    const bytes = Buffer.from(text);
    const formats = new Set<LogFormat>();
    const { found } = this.scanner;
    for (let at = this.scanner.next(bytes, 0, bytes.length, bytes.length); at >= 0; ) {
      for (const index of found) {
        if (!this.literals[index]!.isLearnt) return null;
        for (const format of this.literals[index]!.formats) formats.add(format);
      }
      at = this.scanner.next(bytes, at + 1, bytes.length, bytes.length);
    }
    return this.inOrder(formats);
  }

  private inOrder(formats: Iterable<LogFormat>): LogFormat[] {
    return [...formats].sort((a, b) => this.places.get(a)! - this.places.get(b)!);
  }

  /** Reads one part: to the next line feed or carriage return, or {@link PART_BYTES}. */
  private readPart(limit: number): void {
    const { buffer, position, end } = this;
    this.findBreaks();
    let stop = this.feedAt;
    let next = Math.min(stop + 1, end);
    const beforeFeed = this.returnAt + 1 === stop;
    let continues = false;
    if (this.returnAt < stop && !beforeFeed && this.returnAt < position + PART_BYTES) {
      // A progress bar rewrites its line; each state is a text of its own.
      stop = this.returnAt;
      next = stop + 1;
    } else if (stop > position + PART_BYTES) {
      stop = position + PART_BYTES;
      while (stop > position + 1 && (buffer[stop]! & 0xc0) === 0x80) stop -= 1;
      next = stop;
      continues = true;
      this.noteOnce('long_line', `A line is longer than ${PART_BYTES} bytes; it was read in parts.`);
    } else if (beforeFeed) {
      stop = this.returnAt;
    }
    let mask = 0;
    let isLearnt = true;
    let formats = NO_FORMATS;
    this.findHit(limit);
    while (this.hit >= 0 && this.hit < next) {
      mask |= this.hitMask & ~EXCEPTION_BIT;
      for (const index of this.hitLiterals) {
        const { formats: hitFormats, isLearnt: mayBe } = this.literals[index]!;
        isLearnt &&= mayBe;
        if (formats === NO_FORMATS) formats = hitFormats;
        else if (formats !== hitFormats && hitFormats.some((format) => !formats.includes(format))) {
          formats = this.inOrder(new Set([...formats, ...hitFormats]));
        }
      }
      this.scanFrom(this.hit + 1, limit);
    }
    const text = cleanText(buffer, position, stop);
    if (text.includes('\ufffd')) this.noteOnce('invalid_utf8', 'Invalid UTF-8 bytes were replaced.');
    const prefix = this.linePrefix ?? stripPrefix(text, this.label);
    const segment: Segment = {
      text: text.slice(prefix.end),
      prefix,
      line: this.line,
      offset: this.base + position,
      nextOffset: this.base + next,
      mask: mask & ~NOT_A_FAMILY,
      deviceAssert: (mask & ASSERT_BIT) !== 0,
      continues,
    };
    this.linePrefix = continues ? { ...prefix, end: 0 } : null;
    this.output.explain?.line(segment);
    this.processes.see(segment);
    if ((mask & ~FRAME_BIT) !== 0 && this.trouble.isIn(segment, mask & ~FRAME_BIT)) this.attempts.trouble(this.line);
    this.assembly.feed(segment);
    this.tracebacks.feed(segment, (mask & TRACEBACK_BIT) !== 0, (mask & FRAME_BIT) !== 0);
    this.formats.feed(segment, formats);
    this.line += this.tally.countLines(buffer, position, next, end);
    this.position = next;
    this.floor = next;
    if (buffer[next - 1] === LF) this.freshAt = this.base + next;
    if (formats !== NO_FORMATS && isLearnt && this.unknownAt === this.base + position) this.learn(text, position, stop);
  }
}
