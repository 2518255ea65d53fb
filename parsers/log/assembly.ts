import { remember } from '../../src/model/group-by.js';
import type { IncidentRow, Note, PrintedBytes } from '../../src/model/tables.js';
import { type FoundMessage, findMessages } from './find-messages.js';
import type { LinePrefix } from './strip-prefix.js';

/** One piece of a log: a line, the text between two carriage returns, or a part of an overlong line. */
export interface Segment {
  /** Without the prefix. */
  readonly text: string;
  readonly prefix: LinePrefix;
  /** 1-based line of the file. */
  readonly line: number;
  /** Where the piece begins and where the next one begins, in bytes. */
  readonly offset: number;
  readonly nextOffset: number;
  /** Bits of the message families whose anchors occur here. */
  readonly mask: number;
  /** A device-side assert is reported here. */
  readonly deviceAssert: boolean;
  /** A part of an overlong line, and not its last. */
  readonly continues: boolean;
  /** The messages of this text alone, where they were looked for: to find them takes a tenth of a millisecond. */
  found?: readonly FoundMessage[];
}

/** A line that was read without becoming a segment. */
export type PassedLine = Pick<Segment, 'line' | 'offset' | 'nextOffset'>;

interface Window {
  readonly key: string;
  segments: Segment[];
  mask: number;
  chars: number;
  /** Segments of this writer since the last anchor. */
  quiet: number;
  /** Ordinal of the newest segment. */
  touched: number;
}

/** Lines before the first anchor that may hold the beginning of a wrapped message. */
export const LOOK_BACK_LINES = 4;
/** Lines of one writer that may still belong to a message after its last anchor. */
const QUIET_LINES = 12;
/** A window is read when it is this large; what begins in its last quarter waits for the next one. */
const MOST_LINES = 64;
const MOST_CHARS = 65_536;
/** A writer silent for this many lines of the others is not in the middle of a message. */
const MOST_SILENT = 4096;
/** Bounds on all windows together: a log of thousands of ranks, or one made to hurt. */
const MOST_WINDOWS = 4096;
/** Of the windows, one in so many is closed where there are too many: to find the oldest takes a look at all. */
const CLOSED_SHARE = 16;
const MOST_TOTAL_CHARS = 32 * 1024 * 1024;
const MOST_REMEMBERED = 64;
/** A cuBLAS failure this many lines after a device-side assert is its echo. */
const ASSERT_REACH = 5000;

/** Lines between an attempt of an allocator and the error that ends it: a traceback. */
const ATTEMPT_REACH = 256;
/** What torch's allocator raises. */
const ALLOCATOR_KINDS: ReadonlySet<string> = new Set(['cuda_oom', 'hip_oom', 'nvml_assert_in_oom_path']);

/** Whether an error is the end of an attempt: nothing that both print differs. */
function continues({ bytes, device }: FoundMessage, error: FoundMessage): boolean {
  if (error.device !== null && device !== null && error.device !== device) return false;
  const { requested, total } = error.bytes;
  const agrees = (a: PrintedBytes | undefined, b: PrintedBytes | undefined): boolean =>
    a === undefined || b === undefined || Math.abs(a.bytes - b.bytes) <= a.precisionBytes + b.precisionBytes;
  return agrees(requested, bytes.requested) && agrees(total, bytes.total);
}

/**
 * Puts messages together: each writer (by prefix) has its own window of lines, so that interleaved ranks do not mix.
 * Feed every segment while {@link open}; while it is not, only segments with an anchor (and {@link LOOK_BACK_LINES}
 * before them) matter.
 */
export class MessageAssembly {
  private readonly windows = new Map<string, Window>();
  /** All ranks print one message: what was found in the last windows. */
  private readonly known = new Map<string, readonly FoundMessage[]>();
  private readonly emit: (row: IncidentRow) => void;
  private readonly note: (note: Note) => void;
  private readonly recent: (Segment | PassedLine)[] = [];
  private readonly segmentOf: (line: PassedLine) => Segment;
  private ordinal = 0;
  private totalChars = 0;
  private previous: { readonly window: Window; readonly nextOffset: number } | null = null;
  /** Of each writer, the last attempt that its allocator reported and went on without. */
  private readonly attempts = new Map<string, { readonly line: number; readonly message: FoundMessage }>();
  private lastAssertLine = Number.NEGATIVE_INFINITY;

  /** `segmentOf`: makes a passed line a segment after all. */
  constructor(emit: (row: IncidentRow) => void, note: (note: Note) => void, segmentOf: (line: PassedLine) => Segment) {
    this.emit = emit;
    this.note = note;
    this.segmentOf = segmentOf;
  }

  get open(): boolean {
    return this.windows.size > 0;
  }

  feed(segment: Segment): void {
    this.ordinal += 1;
    if (segment.deviceAssert) this.lastAssertLine = segment.line;
    const window = this.windowFor(segment);
    if (window !== null) {
      window.segments.push(segment);
      window.mask |= segment.mask;
      window.chars += segment.text.length;
      this.totalChars += segment.text.length;
      window.quiet = segment.mask === 0 ? window.quiet + 1 : 0;
      window.touched = this.ordinal;
      this.previous = { window, nextOffset: segment.nextOffset };
      if (window.quiet >= QUIET_LINES) this.close(window);
      else if (window.segments.length >= MOST_LINES || window.chars >= MOST_CHARS) this.read(window, false);
    }
    this.remember(segment);
    if (this.ordinal % 512 === 0) this.closeSilent();
    while (this.windows.size > MOST_WINDOWS || this.totalChars > MOST_TOTAL_CHARS) this.closeOldest();
  }

  /** A line without any anchor, while not {@link open}: it may yet belong to a message that begins on it. */
  pass(line: PassedLine): void {
    this.ordinal += 1;
    this.remember(line);
  }

  /** The bytes of the passed lines go away. */
  settle(): void {
    for (let at = 0; at < this.recent.length; at += 1) this.recentAt(at);
  }

  private remember(line: Segment | PassedLine): void {
    this.recent.push(line);
    if (this.recent.length > LOOK_BACK_LINES) this.recent.shift();
  }

  private recentAt(at: number): Segment {
    const line = this.recent[at]!;
    if ('text' in line) return line;
    const segment = this.segmentOf(line);
    this.recent[at] = segment;
    return segment;
  }

  /** Closes every window: the end of the log. */
  end(): void {
    for (const window of [...this.windows.values()]) this.close(window);
  }

  private windowFor(segment: Segment): Window | null {
    const { key } = segment.prefix;
    const { previous } = this;
    // Text without a prefix right after a line of a window continues it: loggers write their prefix once per message.
    if (
      key === '' &&
      previous !== null &&
      previous.nextOffset === segment.offset &&
      this.windows.has(previous.window.key)
    ) {
      return previous.window;
    }
    const existing = this.windows.get(key);
    if (existing !== undefined) return existing;
    if (segment.mask === 0) return null;
    const window: Window = { key, segments: [], mask: 0, chars: 0, quiet: 0, touched: this.ordinal };
    // The head of a hard-wrapped message, its exception class, may be on the lines before the first anchor.
    let follower = segment;
    for (let at = this.recent.length - 1; at >= 0 && this.recent[at]!.nextOffset === follower.offset; at -= 1) {
      const before = this.recentAt(at);
      if (before.prefix.key !== key) break;
      window.segments.unshift(before);
      window.chars += before.text.length;
      this.totalChars += before.text.length;
      follower = before;
    }
    this.windows.set(key, window);
    return window;
  }

  private closeSilent(): void {
    for (const window of [...this.windows.values()]) {
      if (this.ordinal - window.touched > MOST_SILENT) this.close(window);
    }
  }

  private closeOldest(): void {
    const windows = [...this.windows.values()].sort((a, b) => a.touched - b.touched);
    for (const window of windows.slice(0, Math.ceil(windows.length / CLOSED_SHARE))) {
      this.note({
        kind: 'message_window_full',
        text: 'More messages were interleaved than are followed at once; one was read before its last line.',
        severity: 'warning',
        line: window.segments[0]?.line,
      });
      this.close(window);
    }
  }

  private close(window: Window): void {
    this.windows.delete(window.key);
    this.read(window, true);
    this.totalChars -= window.chars;
  }

  /** Emits the messages of a window; unless it is final, those that may go on are kept for the next reading. */
  private read(window: Window, final: boolean): void {
    const { segments } = window;
    const flags =
      segments.length > 0 && segments[0]!.line - this.lastAssertLine <= ASSERT_REACH ? ['device_assert'] : [];
    const alone = segments.length === 1 && flags.length === 0 ? segments[0]!.found : undefined;
    const messages = alone ?? this.find(segments, window.mask, flags);
    let keepFrom = final ? segments.length : Math.max(1, Math.floor(segments.length * 0.75));
    for (const message of messages) {
      if (message.firstLine >= keepFrom) continue;
      keepFrom = Math.max(keepFrom, message.lastLine + 1);
      this.emitMessage(message, segments);
    }
    if (final) return;
    const kept = segments.slice(keepFrom);
    const chars = kept.reduce((sum, { text }) => sum + text.length, 0);
    this.totalChars += chars - window.chars;
    window.segments = kept;
    window.chars = chars;
    window.mask = kept.reduce((mask, segment) => mask | segment.mask, 0);
  }

  private find(segments: readonly Segment[], mask: number, flags: readonly string[]): readonly FoundMessage[] {
    const texts = segments.map(({ text }) => text);
    const key = `${mask} ${flags} ${texts.join('\n')}`;
    return remember(this.known, MOST_REMEMBERED, key, () => findMessages(texts, mask, flags));
  }

  private emitMessage(message: FoundMessage, segments: readonly Segment[]): void {
    const first = segments[message.firstLine]!;
    const last = segments[message.lastLine]!;
    for (const what of message.impossible) {
      this.note({
        kind: 'impossible_figure',
        text: `The message prints ${what}: 2^63 or more is not a measurement (NVML had no answer, or a size wrapped round); left out.`,
        severity: 'info',
        line: first.line,
        offset: first.offset,
      });
    }
    if (message.kind === 'note') {
      this.attempts.delete(first.prefix.key);
      this.attempts.set(first.prefix.key, { line: last.line, message });
      if (this.attempts.size > MOST_WINDOWS) this.attempts.delete(this.attempts.keys().next().value!);
      this.note({
        kind: 'allocation_retry',
        text: 'An allocator reports an attempt that failed and that it went on without: a sign of pressure, not a failure.',
        severity: 'info',
        line: first.line,
        offset: first.offset,
        device: message.device ?? undefined,
      });
      return;
    }
    const { prefix } = first;
    const attempt = ALLOCATOR_KINDS.has(message.kind) ? this.attempts.get(prefix.key) : undefined;
    const isOfAttempt =
      attempt !== undefined && first.line - attempt.line <= ATTEMPT_REACH && continues(attempt.message, message);
    const figures = isOfAttempt ? attempt.message : undefined;
    this.emit({
      kind: message.kind,
      rank: message.inlineRank ?? prefix.rank ?? message.statedRank,
      rankOrigin:
        message.inlineRank !== null
          ? 'inline:[rankN]:'
          : prefix.rank === null && message.statedRank !== null
            ? 'line'
            : prefix.rankOrigin,
      localRank: prefix.localRank,
      exitCode: null,
      attempt: 1,
      timeUs: null,
      tracebackLine: null,
      frame: null,
      ...(message.code === null ? {} : { frames: [{ file: '', line: 0, function: '', source: message.code }] }),
      host: prefix.host,
      device: message.device ?? figures?.device ?? prefix.device,
      pid: message.pid ?? prefix.pid,
      line: first.line,
      lastLine: last.line,
      offset: first.offset,
      timeText: prefix.time,
      exception: message.exception,
      grammar: message.grammar,
      text: message.text,
      bytes: { ...figures?.bytes, ...message.bytes },
      processes: message.processes,
    });
  }
}
