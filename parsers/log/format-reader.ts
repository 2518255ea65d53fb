import type {
  FailureFinding,
  KeptFinding,
  LaunchFinding,
  LogFinding,
  LogPlace,
  MemoryFinding,
} from '../../src/model/log-rows.js';
import type { Segment } from './assembly.js';
import type { AttemptTracker, FarIteration } from './attempts.js';
import { checkMemory } from './check-memory.js';
import type { BlockFormat, BlockReader, LineFormat, LogFormat } from './formats/contract.js';
import { parseLogTime } from './log-time.js';
import type { LineRecord } from './template-parts.js';

export interface FormatOutput {
  row(finding: KeptFinding, place: LogPlace, segment: Segment): void;
  failure(finding: FailureFinding, place: LogPlace, segment: Segment): void;
  /** Called for every record read, with its line: what `formats explain` counts. */
  matched?(format: LogFormat, segment: Segment): void;
  /** A line that only continues a record begun before. */
  joined?(segment: Segment): void;
  /** An iteration number that is left out of all rows. */
  far?(far: FarIteration): void;
}

interface KeptRow {
  readonly finding: KeptFinding;
  readonly place: LogPlace;
  readonly segment: Segment;
}

/** A template's findings are those of its next line too. */
const copyOf = (finding: KeptFinding): KeptFinding =>
  finding.row === 'iteration' && finding.others !== undefined
    ? { ...finding, others: finding.others.map((other) => ({ ...other })) }
    : { ...finding };

/** Rows kept until their launch is known. */
const MOST_KEPT = 16_384;
/** Formats of milestones that one process prints once. */
const MILESTONES: ReadonlySet<string> = new Set(['megatron-lm.milestone']);
/** Failure formats by which a launcher or a scheduler reports that a launch is over. */
const ENDS = /^(?:torchrun\.|launcher\.|slurm\.|scheduler\.|process\.(?:killed|interrupted)$)/;
/** A launcher that starts the ranks of its node: tasks of Slurm are its nodes. */
const LAUNCHES_RANKS = /^(?:torchrun\.|torchelastic\.|launcher\.|launch\.(?:torchrun|deepspeed)-)/;
/** Figure of every step of a trainer that prints no iteration lines of its own. */
const COUNTED = 'deepspeed.skipped_steps';
/** Names of figures that a process prints when it starts. */
const IDENTITY = /^(?:version|commit|gpu|environment)\./;

interface OpenBlock {
  readonly format: BlockFormat;
  readonly reader: BlockReader;
  foreign: number;
  lines: number;
  /** Newest line of its writer, and its ordinal. */
  segment: Segment;
  touched: number;
}

/** The end of a cut record may look like a record of its own to them. */
const isFallback = (format: LogFormat): boolean => format.form === 'line' && format.isFallback === true;

/** A line that waits for its continuation. */
interface Cut {
  readonly segment: Segment;
  readonly text: string;
  readonly formats: readonly LogFormat[];
  joins: number;
  nextOffset: number;
}

/** A record wrapped by a terminal's edge takes a few lines, not more. */
const MOST_JOINS = 4;
/**
 * A block whose writer is silent for this many lines of the others has ended, and two more for every other open block:
 * where all ranks print a table at once, each waits for all others between two of its lines.
 */
const MOST_SILENT = 128;
const MOST_BLOCKS = 4096;
/** In a part of an overlong line, a record that ends this close to the part's end may go on in the next one. */
const EDGE_CHARS = 64;
const MOST_CARRIED = 4096;

/**
 * Lines to rows, by the formats whose anchors occur in them. Blocks are followed per writer, so that interleaved ranks
 * do not mix.
 */
export class FormatReader {
  private readonly output: FormatOutput;
  private readonly attempts: AttemptTracker;
  private readonly blocks = new Map<string, OpenBlock>();
  private cut: Cut | null = null;
  /** What a part of an overlong line left for the next part. */
  private carried: { readonly text: string; readonly formats: readonly LogFormat[]; readonly offset: number } | null =
    null;
  private readonly readings: MemoryFinding[] = [];
  /** Bytes of the largest device that a process printed. */
  private deviceTotal: number | null = null;
  private ordinal = 0;
  /** Whether the tasks of `srun` start the ranks of a node each. */
  tasksAreNodes = false;
  private segment: Segment | null = null;
  private format: LogFormat | null = null;
  private timeUs: number | null = null;
  private timeKnown = false;
  /** What {@link timeUs} was read from. */
  private timeText: string | null | undefined;
  private place: LogPlace | null = null;
  private placed: Segment | null = null;
  private kept: KeptRow[] = [];

  constructor(output: FormatOutput, attempts: AttemptTracker) {
    this.output = output;
    this.attempts = attempts;
  }

  /** Whether the next line matters regardless of its content. */
  get open(): boolean {
    return this.blocks.size > 0 || this.cut !== null || this.carried !== null;
  }

  /** `formats` are those whose anchors occur in the segment, or none. */
  feed(segment: Segment, formats: readonly LogFormat[]): void {
    this.ordinal += 1;
    if (this.cut !== null && this.joins(segment, formats)) return;
    if (this.blocks.size > 0) {
      if (this.ordinal % 32 === 0) this.closeSilent();
      if (this.feedBlock(segment)) return;
    }
    if (this.carried !== null || (segment.continues && formats.length > 0)) this.readPart(segment, formats);
    else if (formats.length > 0) this.read(segment, segment.text, formats);
  }

  /** What a template read of a line, while not {@link open}; the findings are changed for its next line. */
  feedRecords(segment: Segment, records: readonly LineRecord[]): void {
    this.ordinal += 1;
    for (const { format, findings } of records) {
      this.enter(format, segment);
      // Phases are few, and travel as they are.
      for (const finding of findings) this.emit(finding.row === 'phase' ? { ...finding } : finding);
      if (this.readings.length > 0) this.keepReadings();
    }
  }

  end(): void {
    this.flushCut();
    for (const [key, block] of [...this.blocks]) this.closeBlock(key, block);
    this.attempts.settle();
    this.release();
  }

  // ---- lines --------------------------------------------------------------------------------------------------------

  private read(segment: Segment, text: string, formats: readonly LogFormat[]): void {
    let isRead = false;
    let fallback: LineFormat | null = null;
    for (const format of formats) {
      if (format.form === 'block') isRead = this.openBlock(format, segment, text) || isRead;
      else if (format.isFallback === true) fallback = format;
      else if (this.cut === null && format.cutAtEnd?.(text) === true) {
        this.cut = { segment, text, formats, joins: 0, nextOffset: segment.nextOffset };
        return;
      } else {
        isRead = this.readLine(format, segment, text, text.length) > 0 || isRead;
        if (isRead && format.isExclusive === true) return;
      }
    }
    if (fallback !== null && !isRead) this.readLine(fallback, segment, text, text.length);
  }

  /**
   * Reads the records that end before `limit`; returns where the first one begins that does not, or the end of the last
   * one.
   */
  private readLine(format: LineFormat, segment: Segment, text: string, limit: number): number {
    const { pattern } = format;
    pattern.lastIndex = 0;
    let end = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      if (pattern.lastIndex > limit) return match.index;
      end = pattern.lastIndex;
      this.enter(format, segment);
      format.read(match.groups ?? {}, this.emit);
      if (this.readings.length > 0) this.keepReadings();
      if (match[0] === '') pattern.lastIndex += 1;
    }
    return end;
  }

  /** A part of an overlong line: a record may begin in one part and end in the next. */
  private readPart(segment: Segment, formats: readonly LogFormat[]): void {
    const carried = this.carried?.offset === segment.offset ? this.carried : null;
    this.carried = null;
    const text = (carried?.text ?? '') + segment.text;
    const all = carried === null ? formats : [...new Set([...carried.formats, ...formats])];
    // Without an anchor of its own this part ends what was carried into it.
    const goesOn = segment.continues && formats.length > 0;
    const limit = goesOn ? text.length - EDGE_CHARS : text.length;
    let keepFrom = Math.max(0, text.length - MOST_CARRIED);
    for (const format of all) {
      if (isFallback(format)) continue;
      if (format.form === 'block') {
        if (carried === null) this.openBlock(format, segment, text);
      } else keepFrom = Math.max(keepFrom, Math.min(this.readLine(format, segment, text, limit), text.length));
    }
    if (goesOn && keepFrom < text.length) {
      this.carried = { text: text.slice(keepFrom), formats: all, offset: segment.nextOffset };
    }
  }

  private joins(segment: Segment, formats: readonly LogFormat[]): boolean {
    const cut = this.cut!;
    const continuesIt =
      segment.offset === cut.nextOffset &&
      (segment.prefix.key === cut.segment.prefix.key || segment.prefix.key === '') &&
      segment.prefix.time === null &&
      formats.every(isFallback) &&
      segment.text.trim() !== '';
    if (!continuesIt) {
      this.flushCut();
      return false;
    }
    this.output.joined?.(segment);
    const text = cut.text + segment.text;
    const joins = cut.joins + 1;
    const again =
      joins < MOST_JOINS && cut.formats.some((format) => format.form === 'line' && format.cutAtEnd?.(text) === true);
    this.cut = { ...cut, text, joins, nextOffset: segment.nextOffset };
    if (!again) this.flushCut();
    return true;
  }

  private flushCut(): void {
    const { cut } = this;
    if (cut === null) return;
    for (const format of cut.formats) {
      if (isFallback(format)) continue;
      if (format.form === 'line') this.readLine(format, cut.segment, cut.text, cut.text.length);
      else this.openBlock(format, cut.segment, cut.text);
    }
    this.cut = null;
  }

  // ---- blocks -------------------------------------------------------------------------------------------------------

  /** True if it begins here. */
  private openBlock(format: BlockFormat, segment: Segment, text: string): boolean {
    const match = format.opens.exec(text);
    if (match === null) return false;
    const { key } = segment.prefix;
    const before = this.blocks.get(key);
    if (before !== undefined) this.closeBlock(key, before);
    else if (this.blocks.size >= MOST_BLOCKS) {
      const [oldestKey, oldest] = this.blocks.entries().next().value!;
      this.closeBlock(oldestKey, oldest);
    }
    this.enter(format, segment);
    const reader = format.begin(match, this.emit);
    if (this.readings.length > 0) this.keepReadings();
    this.blocks.set(key, { format, reader, foreign: 0, lines: 1, segment, touched: this.ordinal });
    return true;
  }

  /** True if the line belongs to a block. */
  private feedBlock(segment: Segment): boolean {
    const { key } = segment.prefix;
    const block = this.blocks.get(key);
    if (block === undefined) return false;
    block.touched = this.ordinal;
    block.segment = segment;
    block.lines += 1;
    this.enter(block.format, segment);
    const step = block.reader.line(segment.text);
    if (this.readings.length > 0) this.keepReadings();
    if (step === 'over' || step === 'last') this.closeBlock(key, block);
    else if (step === 'foreign') {
      block.foreign += 1;
      if (block.foreign > block.format.mostForeign || block.lines >= block.format.mostLines)
        this.closeBlock(key, block);
    } else {
      block.foreign = 0;
      if (block.lines >= block.format.mostLines) this.closeBlock(key, block);
    }
    if (step === 'taken' || step === 'last') {
      this.output.matched?.(block.format, segment);
      return true;
    }
    return false;
  }

  private closeBlock(key: string, block: OpenBlock): void {
    this.blocks.delete(key);
    this.enter(block.format, block.segment);
    block.reader.end?.();
    if (this.readings.length > 0) this.keepReadings();
  }

  private closeSilent(): void {
    const limit = MOST_SILENT + 2 * this.blocks.size;
    for (const [key, block] of [...this.blocks]) if (this.ordinal - block.touched > limit) this.closeBlock(key, block);
  }

  // ---- findings -----------------------------------------------------------------------------------------------------

  private enter(format: LogFormat, segment: Segment): void {
    this.format = format;
    if (this.segment !== segment) {
      this.segment = segment;
      this.timeKnown = false;
    }
    if (format.form === 'line') this.output.matched?.(format, segment);
  }

  private time(): number | null {
    if (!this.timeKnown) {
      const text = this.segment?.prefix.time;
      // All ranks print a line in the same second.
      if (text !== this.timeText) this.timeUs = parseLogTime(text);
      this.timeText = text;
      this.timeKnown = true;
    }
    return this.timeUs;
  }

  /** Memory readings of one record are checked against each other before they are kept. */
  private readonly emit = (finding: LogFinding): void => {
    if (finding.row === 'memory') this.readings.push(finding);
    else this.keep(finding);
  };

  private keepReadings(): void {
    const { readings } = this;
    for (const finding of checkMemory(readings, this.deviceTotal)) {
      // A table of nvidia-smi may be of the node that submits the job.
      if (finding.metric === 'device_total' && finding.bytes !== null && !this.format!.id.startsWith('nvidia-smi'))
        this.deviceTotal = Math.max(this.deviceTotal ?? 0, finding.bytes);
      this.keep(finding);
    }
    readings.length = 0;
  }

  private keep(finding: LogFinding): void {
    const segment = this.segment!;
    const { row } = finding;
    const printedTime =
      row === 'iteration' || row === 'phase' || row === 'failure' ? parseLogTime(finding.timeText) : null;
    const timeUs = printedTime ?? this.time();
    const { attempts } = this;
    const { key, localRank } = segment.prefix;
    const { id } = this.format!;
    // Where ranks print, they are known from their output, and tasks may be nodes.
    if (!this.tasksAreNodes) {
      const printsRank = id !== 'slurm.task_end' && 'rank' in finding && finding.rank != null;
      this.tasksAreNodes = localRank !== null || printsRank || LAUNCHES_RANKS.test(id);
    }
    if (finding.row === 'launch') {
      attempts.launch(key, finding.label, segment.line, timeUs, finding.stage, finding.writer);
      this.release();
      return;
    }
    this.track(finding, segment, timeUs);
    const place = this.placeOf(
      segment,
      'rank' in finding ? finding.rank : undefined,
      'device' in finding ? finding.device : undefined,
      timeUs,
    );
    if (finding.row === 'failure') {
      attempts.trouble(segment.line);
      if (ENDS.test(place.format)) attempts.ended();
      this.output.failure(finding, place, segment);
    } else if (attempts.undecided || this.kept.length > 0 || attempts.far.length > 0) {
      this.kept.push({ finding: copyOf(finding), place, segment });
      if (this.kept.length > MOST_KEPT) attempts.settle();
      this.release();
    } else this.output.row(finding, place, segment);
  }

  /** Gives the tracker of launches what it decides by. */
  private track(
    finding: Exclude<LogFinding, LaunchFinding>,
    { prefix: { key }, line, text }: Segment,
    timeUs: number | null,
  ) {
    const { attempts } = this;
    const format = this.format!.id;
    const isOfShell = text.startsWith('+');
    switch (finding.row) {
      case 'iteration':
        attempts.iteration(`${format}\n${key}`, finding.iteration, line, timeUs, finding.target);
        break;
      case 'phase':
        if (finding.phase === 'launch') attempts.launch(key, finding.label, line, timeUs);
        else attempts.phase(key, finding.phase, finding.label, MILESTONES.has(format), line, timeUs);
        break;
      case 'config':
        // Launchers repeat their command line when they end.
        if (finding.origin !== 'command line') attempts.fact(key, null, '', line, timeUs);
        break;
      case 'env':
        attempts.fact(key, null, '', line, timeUs, isOfShell);
        break;
      case 'value':
        if (IDENTITY.test(finding.name)) {
          const isVersion = finding.name.startsWith('version.');
          const value = String(finding.text ?? finding.value);
          attempts.fact(`${format}\n${key}`, isVersion ? finding.name : null, value, line, timeUs, isOfShell);
        } else if (finding.name === COUNTED && finding.iteration !== undefined)
          attempts.iteration(`${format}\n${key}`, finding.iteration, line, timeUs);
        break;
      default:
    }
  }

  /** Rows whose launch is known now. */
  private release(): void {
    const { attempts, kept } = this;
    if (attempts.undecided || (kept.length === 0 && attempts.far.length === 0)) return;
    this.kept = [];
    const far = attempts.far.splice(0);
    for (const place of far) this.output.far?.(place);
    for (const { finding, place, segment } of kept) {
      const iteration = 'iteration' in finding ? finding.iteration : undefined;
      if (iteration !== undefined && far.some((one) => one.line === place.line && one.iteration === iteration))
        continue;
      const attempt = attempts.at(place.line);
      this.output.row(finding, attempt === place.attempt ? place : { ...place, attempt }, segment);
    }
  }

  /** The figures of one line share one place. */
  private placeOf(
    segment: Segment,
    rank: number | undefined,
    device: number | undefined,
    timeUs: number | null,
  ): LogPlace {
    const { prefix } = segment;
    const { current } = this.attempts;
    const format = this.format!.id;
    const last = this.place;
    if (
      last !== null &&
      this.placed === segment &&
      last.format === format &&
      last.rank === (rank ?? prefix.rank) &&
      last.device === (device ?? prefix.device) &&
      last.timeUs === timeUs &&
      last.attempt === current
    ) {
      return last;
    }
    this.placed = segment;
    this.place = {
      line: segment.line,
      offset: segment.offset,
      attempt: current,
      rank: rank ?? prefix.rank,
      rankOrigin: rank === undefined ? prefix.rankOrigin : 'line',
      host: prefix.host,
      device: device ?? prefix.device,
      timeUs,
      format,
    };
    return this.place;
  }
}
