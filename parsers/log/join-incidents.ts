import { pushAll } from '../../src/model/lists.js';
import type { FailureFinding, LogPlace } from '../../src/model/log-rows.js';
import type { IncidentRow } from '../../src/model/tables.js';
import type { IncidentKind } from '../../src/model/vocabulary.js';
import type { Segment } from './assembly.js';
import { classifyException } from './classify-exception.js';
import { eventOf, type FailureEvent, REACH_OF_ANOTHER_PREFIX, REACH_WITHOUT_WRITER } from './failure-events.js';
import { FOOTER_ID } from './failures/torchrun-footer.js';
import { LocalRanks } from './local-ranks.js';
import { parseLogTime } from './log-time.js';
import type { Traceback } from './tracebacks.js';

/** Grammar of an incident known only from a traceback, and of one whose exception is missing. */
export const TRACEBACK_ID = 'python.traceback';
export const CUT_TRACEBACK_ID = 'python.traceback_cut';
const EXCEPTION_LINE_ID = 'python.exception_line';

export interface JoinOptions {
  /** Launch of a line; without it, as the rows have it. */
  readonly attemptAt?: (line: number) => number;
  /** What lines state about themselves. */
  readonly localRanks?: LocalRanks;
  /** Whether training went on between two lines. */
  readonly wentOn?: (from: number, to: number) => boolean;
  /** Whether the tasks of `srun` are nodes, as far as is known. */
  readonly tasksAreNodes?: () => boolean;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Item {
  row: Mutable<IncidentRow>;
  /** Writer where it is known: rows of the message grammar do not contain it. */
  readonly key: string | null;
  readonly event: FailureEvent | null;
  /** Priority of its line among the reports of one failure; see {@link weightOf}. */
  weight: number;
  /** A launcher's footer quotes its traceback: the footer has its process, the prefix that of the launcher. */
  isQuoted: boolean;
  /** Reported by another row. */
  absorbed: boolean;
}

/**
 * Items wait until no further item this close can arrive: windows of messages close after twelve own lines, or 4096 of
 * others.
 */
const MARGIN_LINES = 32_768;
const MOST_HELD = 32_768;
const MOST_HELD_CHARS = 24 * 1024 * 1024;
const MOST_SPAN_LINES = 131_072;
/** A message behind a traceback that was cut off before its exception, or before frames without one. */
const BEHIND_CUT_LINES = 3;
const LONGEST_TEXT = 4000;
/** Incidents of one line that a further one is compared with; a line may be as long as the file, and full of them. */
const MOST_TELLERS = 16;

const NCCL_ORDER: readonly IncidentKind[] = ['nccl_oom', 'nccl_not_oom', 'nccl_unknown'];

/**
 * How much a line knows of what failed: the grammar of memory messages most, an exception without a known cause least.
 */
function weightOf(kind: IncidentKind, from: 'message' | 'failure' | 'traceback' | 'exception'): number {
  // That words about memory are only words is worth more than "an exception".
  if (kind === 'negative_text') return 2.5;
  // An exception's line contains less than its traceback.
  const base = { message: 3, failure: 2, traceback: 1, exception: 0.5 }[from];
  return kind === 'other' || kind === 'nccl_unknown' ? base : base + 4;
}

/**
 * Joins all reports of one failure into one incident: a traceback and the message on its exception line, the exceptions
 * of a chain, a line that several formats match, the consecutive lines of a watchdog, a launcher's cascade. Footers
 * remain separate rows and change no other. Feed in any order; rows are emitted in order of lines per batch. Memory is
 * bounded; at a bound, items that are close together are kept together.
 */
export class IncidentJoiner {
  private readonly emit: (row: IncidentRow) => void;
  private readonly attemptAt: (line: number) => number;
  private readonly knowsAttempts: boolean;
  private readonly localRanks: LocalRanks;
  private readonly tasksAreNodes: () => boolean;
  private readonly wentOn: (from: number, to: number) => boolean;
  private items: Item[] = [];
  private tracebacks: Traceback[] = [];
  private chars = 0;
  private oldest = Number.POSITIVE_INFINITY;
  private newest = 0;

  constructor(emit: (row: IncidentRow) => void, options: JoinOptions = {}) {
    this.emit = emit;
    this.attemptAt = options.attemptAt ?? (() => 1);
    this.knowsAttempts = options.attemptAt !== undefined;
    this.localRanks = options.localRanks ?? new LocalRanks();
    this.tasksAreNodes = options.tasksAreNodes ?? (() => false);
    this.wentOn = options.wentOn ?? (() => false);
  }

  /** A row of the message grammar. */
  message(row: IncidentRow): void {
    this.hold({ ...row }, null, 'message');
  }

  /** A finding of a format; `segment` gives its writer. */
  failure(finding: FailureFinding, place: LogPlace, segment?: Pick<Segment, 'prefix'>): void {
    const prefix = segment?.prefix;
    // torch's own prefix is the global rank; `[PG … Rank 2]` in its words is the position in a process group.
    const statedRank = prefix?.rankOrigin === 'prefix:[rankN]:' ? prefix.rank : null;
    this.hold(
      {
        kind: finding.kind,
        rank: statedRank ?? finding.rank ?? place.rank,
        rankOrigin: statedRank !== null ? 'prefix:[rankN]:' : finding.rank === undefined ? place.rankOrigin : 'line',
        localRank: finding.localRank ?? prefix?.localRank ?? null,
        host: finding.host ?? place.host,
        device: place.device,
        pid: finding.pid ?? prefix?.pid ?? null,
        exitCode: finding.exitCode ?? null,
        attempt: place.attempt,
        line: place.line,
        lastLine: place.line,
        offset: place.offset,
        timeText: finding.timeText ?? prefix?.time ?? null,
        timeUs: place.timeUs,
        exception: finding.exception ?? null,
        tracebackLine: null,
        frame: null,
        grammar: place.format,
        text: finding.text.slice(0, LONGEST_TEXT),
        bytes: {},
        processes: [],
      },
      prefix?.key ?? null,
      'failure',
    );
  }

  traceback(traceback: Traceback): void {
    this.tracebacks.push(traceback);
    this.chars += traceback.message.length + 500;
    this.reach(traceback.line, traceback.lastLine);
  }

  /** The end of the log. */
  end(): void {
    this.settle(Number.POSITIVE_INFINITY);
  }

  private hold(row: Mutable<IncidentRow>, key: string | null, from: 'message' | 'failure'): void {
    this.items.push({
      row,
      key,
      event: eventOf(row.grammar, row.kind),
      weight: weightOf(row.kind, row.grammar === EXCEPTION_LINE_ID ? 'exception' : from),
      isQuoted: false,
      absorbed: false,
    });
    this.chars += row.text.length + 500;
    this.reach(row.line, row.lastLine);
  }

  private reach(first: number, last: number): void {
    this.oldest = Math.min(this.oldest, first);
    this.newest = Math.max(this.newest, last);
    const many = this.items.length + this.tracebacks.length > MOST_HELD || this.chars > MOST_HELD_CHARS;
    if (!many && this.newest - this.oldest <= MOST_SPAN_LINES) return;
    this.settle(this.newest - MARGIN_LINES);
    // Thousands of failures on a few lines: nothing is far away.
    if (this.items.length + this.tracebacks.length > MOST_HELD / 2 || this.chars > MOST_HELD_CHARS / 2) {
      this.settle(Number.POSITIVE_INFINITY);
    }
  }

  /** Joins and emits what begins before `limit`. */
  private settle(limit: number): void {
    const items = this.items.filter(({ row }) => row.line < limit).sort(byPlace);
    // Standard error may come before what shows that tasks are nodes.
    if (this.tasksAreNodes())
      for (const { row } of items)
        if (row.grammar === 'slurm.task_end') Object.assign(row, { rank: null, rankOrigin: null });
    // A launch can turn out to have begun before the line that shows it.
    if (this.knowsAttempts) for (const { row } of items) row.attempt = this.attemptAt(row.line);
    const tracebacks = this.tracebacks.filter(({ line }) => line < limit).sort((a, b) => a.line - b.line);
    this.items = this.items.filter(({ row }) => row.line >= limit);
    this.tracebacks = this.tracebacks.filter(({ line }) => line >= limit);
    this.chars = 0;
    this.oldest = Number.POSITIVE_INFINITY;
    for (const { row } of this.items) {
      this.chars += row.text.length + 500;
      this.oldest = Math.min(this.oldest, row.line);
    }
    for (const { line, message } of this.tracebacks) {
      this.chars += message.length + 500;
      this.oldest = Math.min(this.oldest, line);
    }
    const all = joinTracebacks(items, tracebacks, this.attemptAt);
    joinLines(all);
    joinCopies(all, this.wentOn);
    joinEvents(all);
    assignGlobalRanks(all, this.localRanks);
    for (const { row } of all.filter(({ absorbed }) => !absorbed).sort(byPlace)) this.emit(row);
  }
}

/**
 * Sets global ranks where a prefix gives only the number on the node. What a footer states about a process applies to
 * all its output.
 */
function assignGlobalRanks(items: readonly Item[], localRanks: LocalRanks): void {
  for (const { row } of items) {
    if (row.rank === null || row.localRank === null || row.rankOrigin !== 'line') continue;
    localRanks.learn(row.attempt, row.host, row.localRank, row.rank);
    if (row.pid !== null && row.exitCode !== null) localRanks.learnPid(row.attempt, row.rank, row.pid);
  }
  for (const { row, absorbed } of items) {
    if (absorbed || row.rank !== null || row.localRank === null) continue;
    const rank = localRanks.rankOf(row.attempt, row.host, row.localRank);
    if (rank === null) continue;
    row.rank = rank;
    row.rankOrigin = 'prefix:torchrun, rank from other lines';
    row.pid ??= localRanks.pidOf(row.attempt, rank);
  }
}

const byPlace = (a: { row: IncidentRow }, b: { row: IncidentRow }): number =>
  a.row.line - b.row.line || a.row.offset - b.row.offset;

/** Whether two rows can be one process's: nothing they both know differs. */
function compatible(a: IncidentRow, b: IncidentRow): boolean {
  const differs = (x: unknown, y: unknown): boolean => x !== null && y !== null && x !== y;
  return !differs(a.rank, b.rank) && !differs(a.localRank, b.localRank) && !differs(a.host, b.host);
}

/** Takes into `row` what it does not know and `other` does. Kind, text and figures stay. */
function fill(row: Mutable<IncidentRow>, other: IncidentRow): void {
  if (row.rank === null && other.rank !== null) {
    row.rank = other.rank;
    row.rankOrigin = other.rankOrigin;
  }
  row.localRank ??= other.localRank;
  row.host ??= other.host;
  row.device ??= other.device;
  row.pid ??= other.pid;
  row.exitCode ??= other.exitCode;
  if (row.timeText === null) {
    row.timeText = other.timeText;
    row.timeUs = other.timeUs;
  }
  row.timeUs ??= other.timeUs;
  row.exception ??= other.exception;
  row.tracebackLine ??= other.tracebackLine;
  row.frame ??= other.frame;
  if (row.frames === undefined && other.frames !== undefined) row.frames = other.frames;
  row.lastLine = Math.max(row.lastLine, other.lastLine);
}

// ---- tracebacks -----------------------------------------------------------------------------------------------------

/** Items by line, for the lines that tracebacks contain. */
class LineIndex {
  private readonly byLine = new Map<number, Item[]>();
  private readonly lines: readonly number[];

  constructor(items: readonly Item[]) {
    for (const item of items) {
      const { line, lastLine } = item.row;
      for (const at of line === lastLine ? [line] : [line, lastLine]) {
        const list = this.byLine.get(at);
        if (list === undefined) this.byLine.set(at, [item]);
        else list.push(item);
      }
    }
    this.lines = [...this.byLine.keys()].sort((a, b) => a - b);
  }

  at(line: number): readonly Item[] {
    return this.byLine.get(line) ?? [];
  }

  within(first: number, last: number): Item[] {
    let low = 0;
    let high = this.lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.lines[middle]! < first) low = middle + 1;
      else high = middle;
    }
    const items: Item[] = [];
    for (; low < this.lines.length && this.lines[low]! <= last; low += 1) pushAll(items, this.at(this.lines[low]!));
    return items;
  }
}

const withoutFigures = (row: IncidentRow): boolean => Object.keys(row.bytes).length === 0;

function joinTracebacks(
  items: readonly Item[],
  tracebacks: readonly Traceback[],
  attemptAt: (line: number) => number,
): Item[] {
  const all = [...items];
  if (tracebacks.length === 0) return all;
  const index = new LineIndex(items);
  for (const chain of chainsOf(tracebacks)) {
    const members = new Map<Item, Traceback>();
    for (const traceback of chain) {
      for (const line of traceback.messageLines)
        for (const item of index.at(line)) if (isOfWriter(item, traceback)) members.set(item, traceback);
      if (traceback.exceptionLine === null) {
        const [from, to] = traceback.headless
          ? [traceback.line - BEHIND_CUT_LINES, traceback.line - 1]
          : [traceback.lastLine + 1, traceback.lastLine + BEHIND_CUT_LINES];
        for (const item of index.within(from, to)) {
          const isOpen = item.key === null && item.weight > 3 && (!traceback.headless || item.row.frame === null);
          if (isOpen && sameWriter(item, traceback)) members.set(item, traceback);
        }
      }
    }
    // Frames of something else.
    if (members.size === 0 && chain.every(({ headless, exception }) => headless && exception === null)) continue;
    for (const traceback of chain) {
      // Source lines that spell a message: `raise RuntimeError("CUDA out of memory")`.
      for (const [first, last] of traceback.frameLines) {
        for (const item of index.within(first, last)) {
          if (!members.has(item) && withoutFigures(item.row)) item.absorbed = true;
        }
      }
    }
    const candidates = [...members.keys()].filter(({ absorbed, row }) => !absorbed && rankFits(row, chain[0]!));
    const tracebackItem = ownItem(chain, attemptAt);
    const entry = chain.some(({ quoted }) => quoted) ? footerBehind(index, chain.at(-1)!) : undefined;
    const best = candidates.reduce<Item | null>((a, b) => (a === null || b.weight > a.weight ? b : a), null);
    if (best === null || (tracebackItem !== null && tracebackItem.weight > best.weight)) {
      for (const item of candidates) if (tracebackItem !== null && withoutFigures(item.row)) item.absorbed = true;
      if (tracebackItem !== null) {
        for (const item of candidates) fill(tracebackItem.row, item.row);
        if (entry !== undefined) ofProcess(tracebackItem, entry.row);
        all.push(tracebackItem);
      }
      continue;
    }
    const traceback = members.get(best)!;
    for (const item of candidates) {
      if (item !== best && (withoutFigures(item.row) || item.row.kind === best.row.kind)) {
        item.absorbed = true;
        fill(best.row, item.row);
      }
    }
    Object.assign(best.row, framesOf(traceback));
    fill(best.row, rowOf(traceback, best.row.kind, attemptAt));
    if (entry !== undefined) ofProcess(best, entry.row);
  }
  return all;
}

/**
 * A line without a prefix behind a message may be its continuation, or a launcher's that has none: what a format knows
 * of such a line is its own, unless it is the exception's.
 */
const isOfWriter = ({ key, row }: Item, { prefix, exceptionLine }: Traceback): boolean =>
  key === null || key === prefix.key || row.line === exceptionLine;

const rankFits = (row: IncidentRow, { prefix }: Traceback): boolean =>
  row.rank === null || prefix.rank === null || row.rank === prefix.rank || row.rankOrigin === 'line';

const sameWriter = (item: Item, { prefix }: Traceback): boolean =>
  item.row.rank === prefix.rank && item.row.localRank === prefix.localRank && item.row.pid === prefix.pid;

/** The entry that quotes a traceback; it ends on the line behind. */
const footerBehind = (index: LineIndex, { lastLine }: Traceback): Item | undefined =>
  index.within(lastLine, lastLine + BEHIND_CUT_LINES).find(({ row }) => row.grammar === FOOTER_ID);

function ofProcess(item: Item, { rank, rankOrigin, localRank, host, pid, exitCode }: IncidentRow): void {
  item.isQuoted = true;
  Object.assign(item.row, { rank, rankOrigin, localRank, host, pid, exitCode });
}

/** Tracebacks that follow from each other, first one first. */
function chainsOf(tracebacks: readonly Traceback[]): Traceback[][] {
  const byLine = new Map<string, Traceback[]>();
  const chains: Traceback[][] = [];
  for (const traceback of tracebacks) {
    const { prefix, chainedTo } = traceback;
    const before = chainedTo === null ? undefined : byLine.get(`${chainedTo} ${prefix.key}`);
    const chain = before ?? [];
    if (before === undefined) chains.push(chain);
    chain.push(traceback);
    byLine.set(`${traceback.line} ${prefix.key}`, chain);
  }
  return chains;
}

/** The row of a chain that no other line reports; null if it is not a failure. */
function ownItem(chain: readonly Traceback[], attemptAt: (line: number) => number): Item | null {
  let best: { traceback: Traceback; kind: IncidentKind; weight: number } | null = null;
  for (const traceback of chain.filter(({ headless }) => !headless)) {
    const classified = classifyException(traceback.exception, traceback.message);
    if (classified === null) continue;
    const weight = weightOf(classified.kind, 'traceback');
    // Of equals the last one: it is what ended the process.
    if (best === null || weight >= best.weight) best = { traceback, kind: classified.kind, weight };
  }
  if (best === null) return null;
  // A footer repeats what the worker printed.
  if (best.traceback.quoted && best.kind === 'other') return null;
  const row = rowOf(best.traceback, best.kind, attemptAt);
  return {
    row,
    key: best.traceback.prefix.key,
    event: eventOf(row.grammar, row.kind) ?? eventOfKind(row),
    weight: best.weight,
    isQuoted: false,
    absorbed: false,
  };
}

function eventOfKind(row: IncidentRow): FailureEvent | null {
  if (row.kind === 'timeout') return eventOf('torch.watchdog_timeout', row.kind);
  return row.kind === 'connection_lost' ? eventOf('net.connection_lost', row.kind) : null;
}

/** What a traceback shows of where a failure was. */
function framesOf({ line, headless, frame, inner }: Traceback) {
  const named = frame ?? inner[0] ?? null;
  return { tracebackLine: headless ? null : line, frame: named?.file === '' ? null : named, frames: inner };
}

function rowOf(traceback: Traceback, kind: IncidentKind, attemptAt: (line: number) => number): Mutable<IncidentRow> {
  const { prefix, exception, message, exceptionLine } = traceback;
  const statement = exception === null ? null : message === '' ? exception : `${exception}: ${message}`;
  return {
    kind,
    rank: prefix.rank,
    rankOrigin: prefix.rankOrigin,
    localRank: prefix.localRank,
    host: prefix.host,
    device: prefix.device,
    pid: prefix.pid,
    exitCode: null,
    attempt: attemptAt(traceback.line),
    line: exceptionLine ?? traceback.line,
    lastLine: traceback.lastLine,
    offset: traceback.exceptionOffset ?? traceback.offset,
    timeText: prefix.time,
    timeUs: parseLogTime(prefix.time),
    exception,
    ...framesOf(traceback),
    grammar: exception === null ? CUT_TRACEBACK_ID : TRACEBACK_ID,
    text: (statement ?? 'Traceback (most recent call last), cut off before its exception').slice(0, LONGEST_TEXT),
    bytes: {},
    processes: [],
  };
}

// ---- lines ----------------------------------------------------------------------------------------------------------

/**
 * One line matched by several formats, or by a format and the grammar, is one incident: the item with the most details
 * is kept.
 */
function joinLines(items: readonly Item[]): void {
  const byLine = new Map<number, Item[]>();
  for (const item of items) {
    if (item.absorbed) continue;
    const { line } = item.row;
    const sameLineItems = byLine.get(line);
    if (sameLineItems === undefined) {
      byLine.set(line, [item]);
      continue;
    }
    const twin = sameLineItems.find((other) => !other.absorbed && isTwin(other, item));
    if (twin === undefined) {
      sameLineItems.push(item);
      if (sameLineItems.length > MOST_TELLERS) sameLineItems.shift();
      continue;
    }
    const [kept, dropped] = item.weight > twin.weight ? [item, twin] : [twin, item];
    fill(kept.row, dropped.row);
    dropped.absorbed = true;
    if (kept === item) sameLineItems.push(item);
  }
}

/**
 * Two records of one format on a line are two records: glued prints of two ranks. So are two messages, except the one
 * that names both shared memory and the errno of an allocation.
 */
function isTwin(a: Item, b: Item): boolean {
  if (a.row.grammar === b.row.grammar) return false;
  const messages = [a, b].filter(({ key }) => key === null);
  if (messages.length === 2) {
    return (
      [a.row.kind, b.row.kind].sort().join() === 'host_oom,shm_oom' && withoutFigures(a.row) && withoutFigures(b.row)
    );
  }
  // The same words read twice, whatever rank prefix and words name.
  return (messages.length === 1 && a.row.kind === b.row.kind) || compatible(a.row, b.row);
}

// ---- copies ---------------------------------------------------------------------------------------------------------

const MOST_COPIES = 16;

/** What a message states, without the class that carries it. */
const statementOf = ({ text }: IncidentRow): string =>
  text.replace(/^(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Za-z_]\w{0,60}: /, '').replace(/\s{1,64}/g, ' ');

/** A failure that a handler logs reaches the other stream too, with its traceback or a rank. */
function joinCopies(items: readonly Item[], wentOn: (from: number, to: number) => boolean): void {
  const recent = new Map<string, Item[]>();
  for (const item of items.filter(({ absorbed, event }) => !absorbed && event === null).sort(byPlace)) {
    const { row } = item;
    const list = recent.get(row.kind) ?? [];
    const near = list.filter((other) => item.isQuoted || row.line - other.row.lastLine <= REACH_OF_ANOTHER_PREFIX);
    // What is printed again after further steps has failed again; a launcher quotes what a worker printed.
    const copy = near.find((other) => isCopy(other, item) && (item.isQuoted || !wentOn(other.row.lastLine, row.line)));
    if (copy === undefined) {
      recent.set(row.kind, [...near.slice(1 - MOST_COPIES), item]);
      continue;
    }
    const [kept, dropped] = row.tracebackLine !== null || row.frame !== null ? [item, copy] : [copy, item];
    fill(kept.row, dropped.row);
    kept.row.bytes = { ...dropped.row.bytes, ...kept.row.bytes };
    dropped.absorbed = true;
    if (kept === item) recent.set(row.kind, [...near.filter((other) => other !== copy), item]);
  }
}

function isCopy({ row: a }: Item, { row: b, isQuoted }: Item): boolean {
  if (a.attempt !== b.attempt || !compatible(a, b) || (a.device !== b.device && a.device !== null && b.device !== null))
    return false;
  // Of one stream in the same words, or on one line, they are two failures; so are two tracebacks, unless one has
  // a rank.
  const hasOneRank = (a.rank === null) !== (b.rank === null);
  const tracebacks = [a, b].filter(({ tracebackLine }) => tracebackLine !== null).length;
  if (
    b.line <= a.lastLine ||
    (!hasOneRank && !isQuoted && (tracebacks === 2 || (tracebacks === 0 && a.text === b.text)))
  )
    return false;
  const figures = (row: IncidentRow): string =>
    Object.values(row.bytes)
      .map(({ text }) => text)
      .join();
  if (figures(a) !== figures(b)) return false;
  if (Object.keys(a.bytes).length > 1) return true;
  const isAdjacent = (b.tracebackLine ?? b.line) - a.lastLine <= REACH_WITHOUT_WRITER;
  const [first, second] = [statementOf(a), statementOf(b)];
  return isAdjacent && (first.includes(second) || second.includes(first));
}

// ---- events ---------------------------------------------------------------------------------------------------------

interface Group {
  readonly item: Item;
  last: number;
}

/** Lines of one writer that report one event, or of all writers if the event is common to all. */
function joinEvents(items: readonly Item[]): void {
  const sorted = items.filter(({ absorbed, event }) => !absorbed && event !== null).sort(byPlace);
  const groups = new Map<string, Group>();
  // Groups with an unknown writer may join any other.
  const unknown = new Map<string, Group[]>();
  for (const item of sorted) {
    const event = item.event!;
    const { row } = item;
    const writer = event.shared === true ? 'all' : writerOf(row);
    const name = `${event.name}|${row.attempt}|${writer ?? item.key ?? ''}`;
    const known = groups.get(name);
    const reach = writer === null && (item.key ?? '') === '' ? REACH_WITHOUT_WRITER : event.reach;
    if (known !== undefined && row.line - known.last <= reach && compatible(known.item.row, row)) {
      absorb(known, item);
      continue;
    }
    const anonymous = unknown.get(event.name) ?? [];
    const near = anonymous.filter(({ last }) => row.line - last <= REACH_OF_ANOTHER_PREFIX);
    if (writer !== null && event.name === 'nccl') {
      const match =
        near.find(({ item: other }) => other.row.device !== null && other.row.device === deviceOf(row)) ??
        near.find(({ item: other }) => other.row.device === null);
      if (match !== undefined && compatible(match.item.row, row)) {
        absorb(match, item);
        unknown.set(
          event.name,
          near.filter((group) => group !== match),
        );
        groups.set(name, match);
        continue;
      }
    }
    const group: Group = { item, last: row.lastLine };
    groups.set(name, group);
    unknown.set(event.name, row.rank === null ? [...near.slice(-64), group] : near);
  }
}

const writerOf = ({ rank, localRank, host, pid }: IncidentRow): string | null => {
  if (rank !== null) return `rank ${rank}`;
  if (localRank !== null) return `local ${localRank}@${host ?? ''}`;
  return pid === null ? null : `pid ${pid}@${host ?? ''}`;
};

/** Device of a process, where ranks fill nodes of eight. */
const deviceOf = ({ rank, localRank, device }: IncidentRow): number | null =>
  device ?? localRank ?? (rank === null ? null : rank % 8);

function absorb(group: Group, item: Item): void {
  const { row } = group.item;
  const better = NCCL_ORDER.indexOf(item.row.kind);
  const mine = NCCL_ORDER.indexOf(row.kind);
  const { kind, grammar } = item.row;
  // Of a cascade, the exit that began it; the processes that a launcher kills are not the one that failed.
  const isCause = row.kind === 'other' && kind === 'other' && row.exitCode === null && item.row.exitCode !== null;
  if (isCause) row.pid = item.row.pid;
  fill(row, item.row);
  if (better >= 0 && mine >= 0 && better < mine) {
    row.kind = kind;
    row.grammar = grammar;
  }
  // The line that names a signal from outside has the cause too; the others pass it on.
  if (isCause || (row.kind === 'other' && (kind === 'cancelled' || kind === 'killed'))) {
    row.kind = kind;
    row.text = item.row.text;
    row.line = item.row.line;
    row.offset = item.row.offset;
  }
  row.bytes = { ...item.row.bytes, ...row.bytes };
  group.last = Math.max(group.last, item.row.lastLine);
  item.absorbed = true;
}
