/** The segments of one device as disjoint address ranges that grow, shrink, split and join while a trace is undone. */
import { grown, NULL } from './memory';
import { Ordered } from './ordered';

/** Bits of {@link Owner.inferred}: values without a source. */
export const INFERRED_POOL: u8 = 1;
export const INFERRED_SMALL: u8 = 2;

/** Whose memory a segment is. */
export class Owner {
  constructor(
    /** NULL = not known. */
    public stream: i64,
    /** 1 = small pool, 0 = large pool. */
    public small: u8,
    /** As walks number pools; 0 = default. */
    public pool: i32,
    public expandable: u8,
    public inferred: u8,
  ) {}
}

export class Segment extends Owner {
  address: i64 = 0;
  end: i64 = 0;
  /** Entry that ends this extent. */
  toSeq: i32 = 0;
}

export class Segments {
  /** Extents whose beginning was found last; the walk writes and empties them. */
  ended: Array<Segment> = [];
  /** The entry that is being undone: it ends what begins now in the walk's direction. */
  seq: i32 = i32.MAX_VALUE;
  private index: Ordered<Segment> = new Ordered<Segment>();
  /** The segment found last for each address of the trace. */
  private recent: StaticArray<Segment | null> = new StaticArray<Segment | null>(256);

  /** The segment that contains `address`. */
  at(address: i64): Segment | null {
    const segment = this.index.floor(address);
    return segment == null || address >= segment.end ? null : segment;
  }

  /** {@link at}, for an address of the trace with its number. */
  of(id: i32, address: i64): Segment | null {
    if (id >= this.recent.length) this.recent = grown<Segment | null>(this.recent, id + 1);
    const recent = this.recent[id];
    // What is gone is an empty range, so whatever is kept here is checked by this.
    if (recent != null && address >= recent.address && address < recent.end) return recent;
    const segment = this.at(address);
    this.recent[id] = segment;
    return segment;
  }

  /** Whether [start, end) is a range of addresses that no segment reaches into. */
  isVacant(start: i64, end: i64): bool {
    const before = this.index.floor(start);
    const behind = this.index.next();
    if (before != null && before.end > start) return false;
    return start < end && (behind == null || behind.address >= end);
  }

  /** Adds the vacant range [start, end). */
  add(start: i64, end: i64, owner: Owner): void {
    const segment = new Segment(owner.stream, owner.small, owner.pool, owner.expandable, owner.inferred);
    segment.address = start;
    segment.end = end;
    segment.toSeq = this.seq;
    this.index.floor(start);
    this.index.insert(start, segment);
  }

  /** Takes [start, end) out of the segment that contains it; what remains on either side stays. */
  cut(segment: Segment, start: i64, end: i64): void {
    const oldEnd = segment.end;
    this.finish(segment);
    segment.end = start;
    if (segment.address === start) this.index.delete(start);
    else segment.toSeq = this.seq;
    if (end < oldEnd) this.add(end, oldEnd, segment);
  }

  /**
   * Adds the vacant range [start, end) of an expandable segment and joins it with the mapped runs it touches: a
   * reservation belongs to one stream and pool, so what touches is of one reservation.
   */
  join(start: i64, end: i64, added: Owner): void {
    const before = this.index.floor(start);
    const behind = this.index.next();
    const joinsBefore = before != null && before.end === start && mayJoin(before, added);
    const joinsBehind = behind != null && behind.address === end && mayJoin(behind, added);
    let from = start;
    let to = end;
    let owner = added;
    if (joinsBehind) {
      const neighbour = behind!;
      if (neighbour.inferred <= owner.inferred) owner = neighbour;
      to = neighbour.end;
      this.cut(neighbour, end, to);
    }
    if (joinsBefore && (!joinsBehind || agrees(before!, owner))) {
      const neighbour = before!;
      if (!joinsBehind || neighbour.inferred < owner.inferred) owner = neighbour;
      from = neighbour.address;
      this.cut(neighbour, from, start);
    }
    this.add(from, to, owner);
  }

  /** Everything that is left, by descending address. */
  descending(): StaticArray<Segment> {
    return this.index.descending();
  }

  private finish(segment: Segment): void {
    // What joins and parts within one entry was never seen.
    if (segment.toSeq === this.seq) return;
    const extent = new Segment(segment.stream, segment.small, segment.pool, segment.expandable, segment.inferred);
    extent.address = segment.address;
    extent.end = segment.end;
    extent.toSeq = segment.toSeq;
    this.ended.push(extent);
  }
}

/** A block of class `small` lives in `segment`. False if the segment is known to be of the other class. */
export function confirmSmall(segment: Segment, small: u8): bool {
  if ((segment.inferred & INFERRED_SMALL) !== 0) {
    segment.small = small;
    segment.inferred -= INFERRED_SMALL;
  }
  return segment.small === small;
}

function mayJoin(segment: Segment, added: Owner): bool {
  const streamFits = segment.stream === added.stream || segment.stream === NULL || added.stream === NULL;
  const poolFits = (added.inferred & INFERRED_POOL) !== 0 || segment.pool === added.pool;
  const classUnknown = ((added.inferred | segment.inferred) & INFERRED_SMALL) !== 0;
  const classFits = classUnknown || segment.small === added.small;
  return streamFits && poolFits && classFits && segment.expandable === 1;
}

function agrees(segment: Segment, owner: Owner): bool {
  if ((segment.inferred | owner.inferred) !== 0) return true;
  return segment.small === owner.small && segment.pool === owner.pool;
}
