/**
 * The course of a device's memory in buckets of entries. Each bucket keeps a true state: all figures of the instant at
 * which most was active. A stack of the maxima of each component would be a sum that never existed. Used when a page is
 * made, and in the page itself where it holds every block. Pure.
 */

/** A block or segment that is open at the end of the trace. */
export const OPEN_SEQ = 2_147_483_647;

/** Segments, or mapped runs of expandable ones. The state after entry `seq` has those with `from <= seq < to`. */
export interface SegmentColumns {
  readonly count: number;
  /** −1: before the trace. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  readonly bytes: Float64Array;
  /** 1: in a private pool (of a CUDA graph or a MemPool). */
  readonly isPrivate: Uint8Array;
}

/** Blocks in any order. */
export interface BlockColumns extends SegmentColumns {
  /** Entry of the free request if the block waits for a stream from there to `to`; else `to` or later. */
  readonly pending: Int32Array;
  /** Index of the component. */
  readonly component: Uint8Array;
}

export interface LevelRange {
  /** First and last entry. */
  readonly from: number;
  readonly to: number;
  /** Column `i` begins with entry `from + floor(i × (to − from + 1) / columns)`. */
  readonly columns: number;
}

/** Figures in bytes, one per column, of the instant after entry `at`. */
export interface Level extends LevelRange {
  /** The first entry of the column after which most is active; the entry before the trace for its first state. */
  readonly at: Float64Array;
  readonly active: Float64Array;
  /** Of {@link active}, freed and still used by a stream. */
  readonly pending: Float64Array;
  readonly reserved: Float64Array;
  /** Of private pools: reserved, and active in them. Requests in the default pool cannot use their free memory. */
  readonly privateReserved: Float64Array;
  readonly privateActive: Float64Array;
  /** By component; they add up to {@link active}. */
  readonly components: readonly Float64Array[];
  /** Least active and most reserved of any instant of the column. */
  readonly activeLeast: Float64Array;
  readonly reservedMost: Float64Array;
}

/** First entry of column `i`; of `i = columns`, the entry after the last one. */
export const columnStart = ({ from, to, columns }: LevelRange, i: number): number =>
  from + Math.floor((i * (to - from + 1)) / columns);

const ACTIVE = 0;
const PENDING = 1;
const RESERVED = 2;
const KIND_BITS = 3;
/** Added to the kind. */
const PRIVATE = 0x80;

/** Changes of totals in the order of entries. */
interface Changes {
  readonly count: number;
  readonly seq: Int32Array;
  readonly bytes: Float64Array;
  readonly kind: Uint8Array;
  readonly component: Uint8Array;
}

/**
 * All changes of a device, sorted once: any ranges can then be asked for, and are given in their order. `firstSeq` and
 * `lastSeq`: of the trace. The first column of a range that begins with the trace also counts the state before its
 * first entry.
 */
export function courseOf(
  blocks: BlockColumns,
  segments: SegmentColumns,
  componentCount: number,
  { firstSeq, lastSeq }: { readonly firstSeq: number; readonly lastSeq: number },
): (ranges: readonly LevelRange[]) => Level[] {
  const changes = sortedChanges(blocks, segments, firstSeq, lastSeq);
  return (ranges) => {
    const state = new State(changes, componentCount);
    const levels: Level[] = new Array(ranges.length);
    // One sweep from beginning to beginning: each range goes on from a copy.
    const order = ranges.map((_, i) => i).sort((a, b) => ranges[a]!.from - ranges[b]!.from);
    for (const i of order) {
      state.advanceTo(Math.max(ranges[i]!.from, firstSeq));
      levels[i] = fillLevel(newLevel(ranges[i]!, componentCount), state.copy(), firstSeq);
    }
    return levels;
  };
}

/** Totals after all changes before change `next`. */
class State {
  next = 0;
  active = 0;
  pending = 0;
  reserved = 0;
  privateReserved = 0;
  privateActive = 0;
  readonly components: Float64Array;
  private readonly changes: Changes;

  constructor(changes: Changes, componentCount: number) {
    this.changes = changes;
    this.components = new Float64Array(componentCount);
  }

  copy(): State {
    const copy = new State(this.changes, 0);
    return Object.assign(copy, this, { components: this.components.slice() });
  }

  /** The entry of the next change; past the trace if there is none. */
  get nextSeq(): number {
    return this.next < this.changes.count ? this.changes.seq[this.next]! : OPEN_SEQ;
  }

  /** Applies all changes of entries before `seq`. */
  advanceTo(seq: number): void {
    while (this.nextSeq < seq) this.apply();
  }

  /** Applies all changes of the next entry, and returns that entry. */
  apply(): number {
    const { seq, bytes, kind, component, count } = this.changes;
    const entry = seq[this.next]!;
    for (; this.next < count && seq[this.next] === entry; this.next += 1) {
      const by = bytes[this.next]!;
      const what = kind[this.next]!;
      if ((what & KIND_BITS) === ACTIVE) {
        this.active += by;
        this.components[component[this.next]!]! += by;
        if (what >= PRIVATE) this.privateActive += by;
      } else if ((what & KIND_BITS) === PENDING) this.pending += by;
      else {
        this.reserved += by;
        if (what >= PRIVATE) this.privateReserved += by;
      }
    }
    return entry;
  }
}

function newLevel(range: LevelRange, componentCount: number): Level {
  const { from, to, columns } = range;
  const column = (): Float64Array => new Float64Array(columns);
  return {
    ...{ from, to, columns },
    ...{ at: column(), active: column(), pending: column(), reserved: column(), privateReserved: column() },
    ...{ privateActive: column(), activeLeast: column(), reservedMost: column() },
    components: Array.from({ length: componentCount }, column),
  };
}

function fillLevel(level: Level, state: State, firstSeq: number): Level {
  const { components } = level;
  const keep = (column: number, at: number): void => {
    level.at[column] = at;
    level.active[column] = state.active;
    level.pending[column] = state.pending;
    level.reserved[column] = state.reserved;
    level.privateReserved[column] = state.privateReserved;
    level.privateActive[column] = state.privateActive;
    for (let c = 0; c < components.length; c += 1) components[c]![column] = state.components[c]!;
  };
  for (let column = 0; column < level.columns; column += 1) {
    const start = columnStart(level, column);
    const end = columnStart(level, column + 1);
    const isBegin = column === 0 && level.from <= firstSeq;
    let most = Number.NEGATIVE_INFINITY;
    let least = Number.POSITIVE_INFINITY;
    let reservedMost = 0;
    // The state from before the column counts unless its first entry changes it; the one before the trace does.
    if (isBegin || state.nextSeq !== start) {
      keep(column, isBegin ? firstSeq - 1 : start);
      most = state.active;
      least = state.active;
      reservedMost = state.reserved;
    }
    while (state.nextSeq < end) {
      const at = state.apply();
      const { active, reserved } = state;
      if (active > most) {
        most = active;
        keep(column, at);
      }
      if (active < least) least = active;
      if (reserved > reservedMost) reservedMost = reserved;
    }
    level.activeLeast[column] = least;
    level.reservedMost[column] = reservedMost;
  }
  return level;
}

type Change = (seq: number, bytes: number, kind: number, component: number) => void;

/** A block or segment that begins after one entry and, if that is in the trace, ends after another one. */
function eachChange(blocks: BlockColumns, segments: SegmentColumns, lastSeq: number, take: Change): void {
  const span = (from: number, to: number, bytes: number, kind: number, component: number): void => {
    take(from, bytes, kind, component);
    if (to <= lastSeq) take(to, -bytes, kind, component);
  };
  const { count, from, to, pending, bytes, component, isPrivate } = blocks;
  for (let i = 0; i < count; i += 1) {
    const end = to[i]!;
    const waits = pending[i]!;
    span(from[i]!, end, bytes[i]!, isPrivate[i] === 1 ? ACTIVE | PRIVATE : ACTIVE, component[i]!);
    if (waits < end && waits <= lastSeq) span(waits, end, bytes[i]!, PENDING, 0);
  }
  for (let i = 0; i < segments.count; i += 1) {
    const kind = segments.isPrivate[i] === 1 ? RESERVED | PRIVATE : RESERVED;
    span(segments.from[i]!, segments.to[i]!, segments.bytes[i]!, kind, 0);
  }
}

/** A counting sort: traces have few changes per entry. */
function sortedChanges(blocks: BlockColumns, segments: SegmentColumns, firstSeq: number, lastSeq: number): Changes {
  // Slot 0 is the state before the first entry.
  const slots = lastSeq - firstSeq + 2;
  const slotOf = (seq: number): number => (seq < firstSeq ? 0 : seq - firstSeq + 1);
  const starts = new Uint32Array(slots + 1);
  eachChange(blocks, segments, lastSeq, (seq) => {
    starts[slotOf(seq) + 1]! += 1;
  });
  for (let slot = 0; slot < slots; slot += 1) starts[slot + 1]! += starts[slot]!;
  const count = starts[slots]!;
  const changes = {
    count,
    seq: new Int32Array(count),
    bytes: new Float64Array(count),
    kind: new Uint8Array(count),
    component: new Uint8Array(count),
  };
  eachChange(blocks, segments, lastSeq, (seq, bytes, kind, component) => {
    const slot = slotOf(seq);
    const place = starts[slot]!;
    starts[slot] = place + 1;
    changes.seq[place] = firstSeq - 1 + slot;
    changes.bytes[place] = bytes;
    changes.kind[place] = kind;
    changes.component[place] = component;
  });
  return changes;
}
