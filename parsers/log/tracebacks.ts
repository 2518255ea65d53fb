import type { Segment } from './assembly.js';
import { isUserCode, readException, readFrame, type TracebackFrame } from './exception-line.js';
import type { LinePrefix } from './strip-prefix.js';

/** One `Traceback (most recent call last)` with what belongs to it. */
export interface Traceback {
  /** 1-based: its header, the line that names the exception (null: cut off before it), and its last line. */
  readonly line: number;
  readonly exceptionLine: number | null;
  readonly lastLine: number;
  /** Byte offset of the header's line, and of the exception's. */
  readonly offset: number;
  readonly exceptionOffset: number | null;
  readonly prefix: LinePrefix;
  readonly exception: string | null;
  /** The exception's text, lines joined by line feeds; at most {@link MOST_MESSAGE_CHARS}. */
  readonly message: string;
  /** The innermost frame outside libraries; null if there is none. */
  readonly frame: TracebackFrame | null;
  /** The last frames, innermost first; at most {@link MOST_INNER_FRAMES}. */
  readonly inner: readonly TracebackFrame[];
  readonly frames: number;
  /** Its header was cut off: it adds frames to a failure (without exception: the one before) and is none itself. */
  readonly headless: boolean;
  /** Another one preceded it: "During handling of …", "… was the direct cause of …". */
  readonly chained: boolean;
  /** Header of that other one. */
  readonly chainedTo: number | null;
  /** A launcher quotes it in its footer (`traceback : Traceback …`). */
  readonly quoted: boolean;
  /** Its own lines as ranges, header to exception; lines of other writers are between them. */
  readonly frameLines: readonly (readonly [number, number])[];
  /** The line of the exception and those its message goes on on. */
  readonly messageLines: readonly number[];
}

/** Every header contains one of these: the literals to scan for. */
export const TRACEBACK_ANCHORS: readonly string[] = ['Traceback (most recent call last)'];
const HEADER = TRACEBACK_ANCHORS[0]!;
/** Every frame contains one of these. People paste the end of a traceback: its first frame begins one as well. */
export const FRAME_ANCHORS: readonly string[] = ['File "', '│ ❱ '];
/** Python prints it; dumps of `faulthandler` lack the comma, warnings the function. */
const WHOLE_FRAME = /^\s{0,64}File "[^"\n]{1,1000}", line \d{1,9}, in \S/;
/** The failing line in a box of rich, whose first rows may be cut off. */
const RICH_CODE = /^\s{0,64}[│|]\s❱\s{0,8}(\d{1,9})\s([^\n]{1,400})$/;

const MOST_OPEN = 2048;
/** Of one writer: without prefixes all ranks are one writer, and their tracebacks interleave. */
const MOST_OF_ONE_WRITER = 16;
const MOST_FRAME_KEYS = 96;
/** Of a failure: deep enough to reach the caller of torch's modules, engines and hooks. */
const MOST_INNER_FRAMES = 16;
const MOST_SOURCE_CHARS = 160;
const MOST_RANGES = 64;
/** Lines of an endless one (a recursion prints at most a thousand frames). */
const MOST_LINES = 8192;
export const MOST_MESSAGE_CHARS = 4000;
/** Source lines and carets of one frame; further indented lines belong to other writers. */
const MOST_SOURCE_LINES = 24;
const MOST_MESSAGE_LINES = 24;
/** Lines of its writer that are none of its own before it counts as cut off. */
const MOST_FOREIGN = 64;
/** Lines of all others while its writer is silent, before and after the exception. */
const MOST_SILENT = 4096;
const MOST_SILENT_AFTER = 64;
/** Own lines between the end of a message and `During handling of …`. */
const GAP_LINES = 2;

const FRAME_BEGINS = /^\s{0,64}[|│]?\s{0,16}File "/;
const CHAIN =
  /^\s{0,64}[|│]?\s{0,16}(?:During handling of the above exception|The above exception was the direct cause of)/;
/** What a message's next line does not begin with: a record of a logger, a launcher, a footer or a report. */
const NEW_RECORD =
  /^\s{0,8}(?:\[|\d{4}-\d\d-\d\d|={8}|-{8}|\*{8}|\+|[\w.-]{1,64}:\d{1,9}:\d{1,9} \[|(?:srun|slurmstepd|slurmd|torchrun|Exception in|Exception ignored|Killing subprocess|Main process received|iteration|Fatal Python|terminate called|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b)/;

interface Open {
  readonly key: string;
  readonly header: Segment;
  /** The text before the header on its line, which the following lines repeat: a logger's words, a group's bar. */
  readonly lead: string;
  readonly quoted: boolean;
  readonly headless: boolean;
  readonly chainedTo: number | null;
  phase: 'frames' | 'message' | 'gap';
  lines: number;
  foreign: number;
  /** Indented lines since the last frame, and blank ones since the exception. */
  sinceFrame: number;
  gap: number;
  /** The previous own line was a frame or its source, so the next unindented one is the exception. */
  sure: boolean;
  frames: number;
  frame: TracebackFrame | null;
  /** A line that begins a frame, which a terminal's edge cut. */
  cutFrame: string;
  /** Innermost last. */
  readonly inner: TracebackFrame[];
  readonly frameKeys: string[];
  readonly ranges: [number, number][];
  exception: string | null;
  exceptionLine: number | null;
  exceptionOffset: number | null;
  message: string[];
  messageChars: number;
  messageLines: number[];
  lastLine: number;
  /** Where the next line must begin to continue a message of a writer without prefix. */
  nextOffset: number;
  touched: number;
}

/**
 * Assembles tracebacks: each writer (by prefix) has its own, so that interleaved ranks do not mix. Those of writers
 * without a prefix are distinguished by their frames, which are the same on every rank, in the same order. Feed every
 * segment while {@link open}.
 */
export class TracebackAssembly {
  private readonly emit: (traceback: Traceback) => void;
  /** By writer, oldest first. */
  private readonly writers = new Map<string, Open[]>();
  private count = 0;
  private ordinal = 0;
  /** A writer announced that another traceback follows. */
  private readonly chains = new Map<string, { readonly line: number; left: number; readonly at: number }>();
  private previous: { readonly key: string; readonly nextOffset: number } | null = null;

  constructor(emit: (traceback: Traceback) => void) {
    this.emit = emit;
  }

  /** Whether the next line matters regardless of its content. */
  get open(): boolean {
    return this.count > 0 || this.chains.size > 0;
  }

  /** `isHeader`, `hasFrame`: one of {@link TRACEBACK_ANCHORS} or {@link FRAME_ANCHORS} occurs in the segment. */
  feed(segment: Segment, isHeader: boolean, hasFrame = false): void {
    this.ordinal += 1;
    const key = this.writerOf(segment);
    const mine = this.writers.get(key);
    if (isHeader) this.begin(segment, key);
    else if (mine !== undefined) this.take(mine, segment);
    else if (hasFrame && (WHOLE_FRAME.test(segment.text) || RICH_CODE.test(segment.text))) {
      this.begin(segment, key, true);
      this.take(this.writers.get(key)!, segment);
    } else this.countDown(key);
    this.previous = this.writers.has(key) ? { key, nextOffset: segment.nextOffset } : null;
    if (this.ordinal % 32 === 0) this.closeSilent();
  }

  /** Counts a line of no traceback; only while none is {@link open}. */
  pass(): void {
    this.ordinal += 1;
  }

  /** The end of the log. */
  end(): void {
    for (const list of [...this.writers.values()]) for (const open of [...list]) this.close(open);
    this.chains.clear();
  }

  /**
   * Text without a prefix right after a line of a traceback continues it: loggers write their prefix once per record.
   */
  private writerOf(segment: Segment): string {
    const { key } = segment.prefix;
    const { previous } = this;
    if (key !== '' || this.writers.has('') || previous === null || previous.nextOffset !== segment.offset) return key;
    return previous.key;
  }

  private countDown(key: string): void {
    const chain = this.chains.get(key);
    if (chain === undefined) return;
    chain.left -= 1;
    if (chain.left <= 0) this.chains.delete(key);
  }

  private begin(segment: Segment, key: string, headless = false): void {
    const at = segment.text.indexOf(HEADER);
    let lead = at < 0 ? '' : segment.text.slice(0, at);
    // `  + Exception Group Traceback`: its lines begin with a bar in the column of the plus.
    if (lead.endsWith('Exception Group ')) lead = lead.slice(0, -'Exception Group '.length).replace(/\+ ?$/, '| ');
    const quoted = /traceback\s{0,3}:\s{0,3}$/.test(lead);
    if (quoted) lead = /^\s{0,64}/.exec(lead)![0];
    else if (/^\s{0,64}╭[─\s]{0,400}$/.test(lead)) lead = '';
    const list = this.writers.get(key) ?? [];
    // A finished one whose message was still going on.
    for (const open of [...list]) if (open.phase !== 'frames') this.close(open);
    const chain = this.chains.get(key);
    this.chains.delete(key);
    if (list.length >= MOST_OF_ONE_WRITER) this.close(list[0]!);
    if (this.count >= MOST_OPEN) this.closeOldest();
    list.push({
      key,
      header: segment,
      lead,
      quoted,
      headless,
      chainedTo: chain?.line ?? null,
      phase: 'frames',
      lines: 0,
      foreign: 0,
      sinceFrame: 0,
      gap: 0,
      sure: false,
      frames: 0,
      frame: null,
      cutFrame: '',
      inner: [],
      frameKeys: [],
      ranges: [[segment.line, segment.line]],
      exception: null,
      exceptionLine: null,
      exceptionOffset: null,
      message: [],
      messageChars: 0,
      messageLines: [],
      lastLine: segment.line,
      nextOffset: segment.nextOffset,
      touched: this.ordinal,
    });
    this.writers.set(key, list);
    this.count += 1;
  }

  private take(list: Open[], segment: Segment): void {
    const going = list.filter(({ phase }) => phase === 'frames');
    const ended = list.find(({ phase }) => phase !== 'frames');
    if (ended !== undefined && going.length === 0) {
      this.takeMessage(ended, segment);
      return;
    }
    const newest = going.at(-1)!;
    const text = strip(segment.text, newest.lead);
    const frame = readFrame(text) ?? (newest.cutFrame === '' ? null : readFrame(newest.cutFrame + text));
    newest.cutFrame = frame === null && FRAME_BEGINS.test(text) ? text : '';
    if (newest.cutFrame !== '') {
      this.own(newest, segment);
      return;
    }
    if (frame !== null) {
      const open = ownerOf(going, frame);
      this.own(open, segment);
      open.frames += 1;
      open.sinceFrame = 0;
      open.sure = true;
      open.inner.push(frame);
      if (open.inner.length > MOST_INNER_FRAMES) open.inner.shift();
      if (isUserCode(frame.file)) open.frame = frame;
      if (open.frameKeys.length < MOST_FRAME_KEYS) open.frameKeys.push(frameKey(frame));
      return;
    }
    if (text.trim() === '' || /^\s/.test(text)) {
      // Source of the frame, carets, `[Previous line repeated …]`. They directly follow their frame.
      const open = going.reduce((a, b) => (b.touched >= a.touched ? b : a));
      if (text.trim() === '') return;
      open.sinceFrame += 1;
      if (open.sinceFrame === 1 && /\w/.test(text)) addSource(open, text);
      if (open.sinceFrame <= MOST_SOURCE_LINES) {
        this.own(open, segment);
        return;
      }
    }
    if (/^[│╰╭|+]/.test(text)) {
      this.own(newest, segment);
      addRichCode(newest, text);
      newest.sure = true;
      return;
    }
    // The one that is furthest is the first to end.
    const open = going.reduce((a, b) => (b.frames > a.frames ? b : a));
    const exception = open.frames > 0 ? readException(text, open.sure) : null;
    if (exception !== null) {
      this.own(open, segment);
      open.phase = 'message';
      open.exception = exception.name;
      open.exceptionLine = segment.line;
      open.exceptionOffset = segment.offset;
      open.messageLines.push(segment.line);
      this.addMessage(open, exception.message);
      if (going.length > 1) this.close(open);
      return;
    }
    for (const unfinished of going) {
      unfinished.sure = false;
      unfinished.foreign += 1;
      if (unfinished.foreign > MOST_FOREIGN) this.close(unfinished);
    }
  }

  /** Lines after the exception: its message goes on, or a second traceback is announced, or it is over. */
  private takeMessage(open: Open, segment: Segment): void {
    const text = strip(segment.text, open.lead);
    if (CHAIN.test(text)) {
      const line = open.header.line;
      this.close(open);
      this.chains.set(open.key, { line, left: 4, at: this.ordinal });
      return;
    }
    const blank = text.trim() === '';
    const adjacent = open.key !== '' || segment.offset === open.nextOffset;
    if (blank && adjacent && open.gap < GAP_LINES) {
      open.phase = 'gap';
      open.gap += 1;
      open.nextOffset = segment.nextOffset;
      open.touched = this.ordinal;
      return;
    }
    const goesOn =
      open.phase === 'message' &&
      adjacent &&
      (segment.prefix.time === null || segment.prefix.time === open.header.prefix.time) &&
      !NEW_RECORD.test(text) &&
      open.message.length < MOST_MESSAGE_LINES &&
      open.messageChars < MOST_MESSAGE_CHARS;
    if (!goesOn) {
      this.close(open);
      return;
    }
    open.messageLines.push(segment.line);
    open.lastLine = segment.line;
    open.nextOffset = segment.nextOffset;
    open.touched = this.ordinal;
    this.addMessage(open, text);
  }

  private addMessage(open: Open, text: string): void {
    const part = text.slice(0, MOST_MESSAGE_CHARS - open.messageChars);
    open.message.push(part);
    open.messageChars += part.length + 1;
  }

  private own(open: Open, segment: Segment): void {
    open.foreign = 0;
    open.lines += 1;
    open.touched = this.ordinal;
    open.lastLine = segment.line;
    open.nextOffset = segment.nextOffset;
    const last = open.ranges.at(-1)!;
    if (segment.line <= last[1] + 1) last[1] = segment.line;
    else if (open.ranges.length < MOST_RANGES) open.ranges.push([segment.line, segment.line]);
    if (open.lines > MOST_LINES) this.close(open);
  }

  private closeSilent(): void {
    for (const list of [...this.writers.values()]) {
      for (const open of [...list]) {
        const most = open.phase === 'frames' ? MOST_SILENT : MOST_SILENT_AFTER;
        if (this.ordinal - open.touched > most) this.close(open);
      }
    }
    for (const [key, { at }] of [...this.chains]) if (this.ordinal - at > MOST_SILENT_AFTER) this.chains.delete(key);
  }

  private closeOldest(): void {
    let oldest: Open | null = null;
    for (const list of this.writers.values()) {
      for (const open of list) if (oldest === null || open.touched < oldest.touched) oldest = open;
    }
    if (oldest !== null) this.close(oldest);
  }

  private close(open: Open): void {
    const list = this.writers.get(open.key);
    const index = list?.indexOf(open) ?? -1;
    if (list === undefined || index < 0) return;
    list.splice(index, 1);
    this.count -= 1;
    if (list.length === 0) this.writers.delete(open.key);
    // Words about tracebacks, not one.
    if (open.frames === 0) return;
    // A dump of something else; what people paste behind a message is short.
    if (open.headless && open.exception === null && open.frames > MOST_INNER_FRAMES) return;
    const message = open.message.join('\n').trim();
    this.emit({
      line: open.header.line,
      exceptionLine: open.exceptionLine,
      lastLine: open.lastLine,
      offset: open.header.offset,
      exceptionOffset: open.exceptionOffset,
      prefix: open.header.prefix,
      exception: open.exception,
      message,
      frame: open.frame,
      inner: open.inner.toReversed(),
      frames: open.frames,
      headless: open.headless,
      chained: open.chainedTo !== null,
      chainedTo: open.chainedTo,
      quoted: open.quoted,
      frameLines: open.ranges,
      messageLines: open.messageLines,
    });
  }
}

/** Code of the frame that was printed last. */
function addSource({ inner }: Open, text: string): void {
  const frame = inner.pop();
  if (frame !== undefined) inner.push({ ...frame, source: text.trim().slice(0, MOST_SOURCE_CHARS) });
}

function addRichCode(open: Open, text: string): void {
  const match = RICH_CODE.exec(text);
  if (match === null) return;
  if (open.inner.at(-1)?.source === undefined && open.frames > 0) addSource(open, match[2]!.replaceAll('│', ''));
  else if (open.frames === 0) {
    open.frames = 1;
    open.inner.push({ file: '', line: Number(match[1]), function: '' });
    addSource(open, match[2]!.replaceAll('│', ''));
  }
}

/** A blank line has lost the space at the end of the lead. */
const strip = (text: string, lead: string): string =>
  lead !== '' && (text.startsWith(lead) || text === lead.trimEnd()) ? text.slice(lead.length) : text;

const frameKey = ({ file, line, function: name }: TracebackFrame): string => `${file}:${line}:${name}`;

/**
 * Whose frame it is, of several tracebacks that one writer prints at once: ranks fail in the same place, so it belongs
 * to the one that lags behind another by exactly this frame, else to the one that is furthest.
 */
function ownerOf(going: readonly Open[], frame: TracebackFrame): Open {
  if (going.length === 1) return going[0]!;
  const key = frameKey(frame);
  const lagging = going.find((open) =>
    going.some((other) => other !== open && other.frames > open.frames && other.frameKeys[open.frames] === key),
  );
  return lagging ?? going.reduce((a, b) => (b.frames > a.frames ? b : a));
}
