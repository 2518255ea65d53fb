/**
 * The entries of one device's trace, packed: 11 bytes each, since a trainer has few addresses, few stacks, and few
 * sizes on few streams. With them what follows from the entries alone: counts, sums, and breaches of their order. Sizes
 * on entries are *requested* bytes.
 */
import { grown, Ids, MAX_SAFE, mix, NULL } from './memory';

export const ALLOC: u8 = 0;
export const FREE_REQUESTED: u8 = 1;
export const FREE_COMPLETED: u8 = 2;
export const SEGMENT_ALLOC: u8 = 3;
export const SEGMENT_FREE: u8 = 4;
export const SEGMENT_MAP: u8 = 5;
export const SEGMENT_UNMAP: u8 = 6;
/** More than there are. */
export const ACTIONS: i32 = 32;
/** The bits of an entry's action; the others are marks of the walk: */
export const ACTION: u8 = 0x1f;
/** an entry that the walk left out; */
export const LEFT_OUT: u8 = 0x80;
/** a request that counts as the completion too. */
export const COMPLETES: u8 = 0x40;

/** Entries of a {@link Chunk}. */
export const CHUNK_BITS: i32 = 12;
export const CHUNK: i32 = 1 << CHUNK_BITS;
/** A time that is not known, or not within 35 minutes of the first of its chunk. */
const NO_TIME: i32 = i32.MIN_VALUE;

/** Numbers from −1 on: 16 bits each, until one needs more. */
export class Numbers {
  /** One more than the number. */
  private narrow: StaticArray<u16> = new StaticArray<u16>(CHUNK);
  private wide: StaticArray<i32> | null = null;

  at(at: i32): i32 {
    const wide = this.wide;
    return wide != null ? wide[at] : i32(this.narrow[at]) - 1;
  }

  put(at: i32, number: i32): void {
    let wide = this.wide;
    if (wide == null) {
      if (number < i32(u16.MAX_VALUE)) {
        this.narrow[at] = u16(number + 1);
        return;
      }
      wide = new StaticArray<i32>(CHUNK);
      for (let i = 0; i < at; i++) wide[i] = this.at(i);
      this.wide = wide;
      this.narrow = [];
    }
    wide[at] = number;
  }
}

export class Chunk {
  action: StaticArray<u8> = new StaticArray<u8>(CHUNK);
  /** Number of the address. */
  address: Numbers = new Numbers();
  /** Row of {@link Shapes}. */
  shape: Numbers = new Numbers();
  /** −1 = none. */
  stack: Numbers = new Numbers();
  /** µs after {@link base}. */
  private time: StaticArray<i32> = new StaticArray<i32>(CHUNK);
  private base: i64 = NULL;
  /** All times as they are, once one does not fit. */
  private wide: StaticArray<i64> | null = null;

  /** µs since 1970, or NULL. */
  timeAt(at: i32): i64 {
    const wide = this.wide;
    if (wide != null) return wide[at];
    const after = this.time[at];
    return after === NO_TIME ? NULL : this.base + after;
  }

  putTime(at: i32, time: i64): void {
    if (this.base === NULL) this.base = time;
    const after = time - this.base;
    const fits = time !== NULL && after > i64(NO_TIME) && after <= i64(i32.MAX_VALUE);
    if (this.wide == null && !fits && time !== NULL) {
      const wide = new StaticArray<i64>(CHUNK);
      for (let i = 0; i < at; i++) wide[i] = this.timeAt(i);
      this.wide = wide;
    }
    const wide = this.wide;
    if (wide != null) wide[at] = time;
    else this.time[at] = fits ? i32(after) : NO_TIME;
  }
}

/** Size, stream, pool and texts of an entry, which few entries differ in. */
export class Shapes {
  count: i32 = 0;
  size: StaticArray<i64> = new StaticArray<i64>(128);
  /** NULL = not known. */
  stream: StaticArray<i64> = new StaticArray<i64>(128);
  /** The file's number of the pool id; −1 = none. */
  pool: StaticArray<i32> = new StaticArray<i32>(128);
  /** Text ids of the file; −1 = none. */
  context: StaticArray<i32> = new StaticArray<i32>(128);
  metadata: StaticArray<i32> = new StaticArray<i32>(128);
  private places: StaticArray<i32> = new StaticArray<i32>(256);

  of(size: i64, stream: i64, pool: i32, context: i32, metadata: i32): i32 {
    const mask = this.places.length - 1;
    let at = i32(hashOf(size, stream, pool, context, metadata)) & mask;
    for (;;) {
      const id = this.places[at] - 1;
      if (id < 0) break;
      if (this.is(id, size, stream, pool, context, metadata)) return id;
      at = (at + 1) & mask;
    }
    const id = this.count++;
    if (id === this.size.length) {
      this.size = grown<i64>(this.size);
      this.stream = grown<i64>(this.stream);
      this.pool = grown<i32>(this.pool);
      this.context = grown<i32>(this.context);
      this.metadata = grown<i32>(this.metadata);
    }
    this.size[id] = size;
    this.stream[id] = stream;
    this.pool[id] = pool;
    this.context[id] = context;
    this.metadata[id] = metadata;
    this.places[at] = id + 1;
    if (this.count * 2 > this.places.length) this.spread();
    return id;
  }

  is(id: i32, size: i64, stream: i64, pool: i32, context: i32, metadata: i32): bool {
    return (
      this.size[id] === size &&
      this.stream[id] === stream &&
      this.pool[id] === pool &&
      this.context[id] === context &&
      this.metadata[id] === metadata
    );
  }

  private spread(): void {
    const places = new StaticArray<i32>(this.places.length * 2);
    const mask = places.length - 1;
    for (let id = 0; id < this.count; id++) {
      const hash = hashOf(this.size[id], this.stream[id], this.pool[id], this.context[id], this.metadata[id]);
      let at = i32(hash) & mask;
      while (places[at] !== 0) at = (at + 1) & mask;
      places[at] = id + 1;
    }
    this.places = places;
  }
}

function hashOf(size: i64, stream: i64, pool: i32, context: i32, metadata: i32): i64 {
  return mix(mix(mix(mix(0, size), stream), (i64(context) << 32) ^ i64(pool)), i64(metadata));
}

/** Entries that settle whether frees carry the stacks of their allocations. */
const STACKS_LOOKED_AT: i32 = 200000;
/**
 * Equal stacks of so many different places are not a coincidence: a temporary is often freed on the line that made it,
 * but not all of them.
 */
const LEAST_STACKS: i32 = 3;

/** What happened last at an address. */
const NONE: u8 = 0;
const ALLOCATED: u8 = 1;
const FREEING: u8 = 2;
/** As {@link FREEING}, of memory from before the trace. */
const FREEING_OLDER: u8 = 3;

export class Trace {
  /** Entries so far; the `seq` of the next one. */
  count: i32 = 0;
  addresses: Ids = new Ids();
  shapes: Shapes = new Shapes();
  private chunks: StaticArray<Chunk | null> = new StaticArray<Chunk | null>(4);
  private lastState: StaticArray<u8> = new StaticArray<u8>(256);
  private lastShape: i32 = -1;

  actions: StaticArray<i32> = new StaticArray<i32>(ACTIONS);
  firstAction: u8 = 255;
  lastAction: u8 = 255;
  /** µs since 1970, or NULL. */
  firstTime: i64 = NULL;
  unmatched: i64 = 0;
  requested: i64 = 0;
  requestedPeak: i64 = 0;
  requestedPeakSeq: i32 = -1;
  reserved: i64 = 0;
  reservedPeak: i64 = 0;
  disorder: i32 = 0;
  disorderSeq: i32 = -1;

  chunk(index: i32): Chunk {
    return this.chunks[index]!;
  }

  chunkOf(seq: i32): Chunk {
    return this.chunks[seq >> CHUNK_BITS]!;
  }

  placeOf(seq: i32): i32 {
    return seq & (CHUNK - 1);
  }

  /** The action of an entry, without marks. */
  actionAt(seq: i32): u8 {
    return this.chunkOf(seq).action[this.placeOf(seq)] & ACTION;
  }

  shapeAt(seq: i32): i32 {
    return this.chunkOf(seq).shape.at(this.placeOf(seq));
  }

  stackAt(seq: i32): i32 {
    return this.chunkOf(seq).stack.at(this.placeOf(seq));
  }

  timeAt(seq: i32): i64 {
    return this.chunkOf(seq).timeAt(this.placeOf(seq));
  }

  mark(seq: i32, marks: u8): void {
    const at = this.placeOf(seq);
    const chunk = this.chunkOf(seq);
    chunk.action[at] = chunk.action[at] | marks;
  }

  /** False if the sums of sizes are not exact any more. */
  add(
    action: u8,
    address: i64,
    size: i64,
    stream: i64,
    time: i64,
    pool: i32,
    stack: i32,
    context: i32,
    metadata: i32,
  ): bool {
    const seq = this.count;
    const at = seq & (CHUNK - 1);
    if (at === 0) this.addChunk(seq >> CHUNK_BITS);
    const chunk = this.chunks[seq >> CHUNK_BITS]!;
    const id = this.addresses.of(address);
    // Request and completion of a free follow each other.
    let shape = this.lastShape;
    if (shape < 0 || !this.shapes.is(shape, size, stream, pool, context, metadata)) {
      shape = this.shapes.of(size, stream, pool, context, metadata);
      this.lastShape = shape;
    }
    chunk.action[at] = action;
    chunk.address.put(at, id);
    chunk.shape.put(at, shape);
    chunk.stack.put(at, stack);
    chunk.putTime(at, time);
    if (time !== NULL && (this.firstTime === NULL || time < this.firstTime)) this.firstTime = time;
    this.count = seq + 1;
    if (this.firstAction === 255) this.firstAction = action;
    this.lastAction = action;
    this.actions[action]++;
    return this.sum(action, id, size, seq, address !== NULL);
  }

  /**
   * For each of `count` times (ascending, µs as f64) the last entry that is not later, −1 = none, into `seqs`. From the
   * last entry back: an entry answers all times at or after its own that are still open, the latest ones.
   */
  lastSeqs(count: i32, times: usize, seqs: usize): void {
    for (let i = 0; i < count; i++) store<i32>(seqs + (usize(i) << 2), -1);
    let open = count - 1;
    for (let seq = this.count - 1; seq >= 0 && open >= 0; seq--) {
      const time = this.chunk(seq >> CHUNK_BITS).timeAt(seq & (CHUNK - 1));
      if (time === NULL) continue;
      while (open >= 0 && f64(time) <= load<f64>(times + (usize(open) << 3))) {
        store<i32>(seqs + (usize(open) << 2), seq);
        open--;
      }
    }
  }

  /**
   * Whether frees have the stacks of their allocations. Of memory from before the recording only the free has a stack.
   * Unless recorded with context="all" that *is* the stack of the allocation (torch `free` in CUDACachingAllocator.cpp
   * passes the block's own context), and then it is not a substitute.
   */
  freesCarryStacks(): bool {
    const stackAt = new StaticArray<i32>(this.addresses.count);
    for (let id = 0; id < stackAt.length; id++) stackAt[id] = -1;
    const seen = new StaticArray<i32>(LEAST_STACKS);
    let distinct = 0;
    for (let seq = 0; seq < min(this.count, STACKS_LOOKED_AT); seq++) {
      const chunk = this.chunk(seq >> CHUNK_BITS);
      const at = seq & (CHUNK - 1);
      const action = chunk.action[at];
      const id = chunk.address.at(at);
      if (action > FREE_COMPLETED || this.addresses.keys[id] === NULL) continue;
      const stack = chunk.stack.at(at);
      if (action === ALLOC) {
        stackAt[id] = stack;
        continue;
      }
      const made = stackAt[id];
      if (made >= 0 && stack >= 0) {
        if (made !== stack) return false;
        let known = false;
        for (let i = 0; i < distinct; i++) known = known || seen[i] === stack;
        if (!known && distinct < LEAST_STACKS) seen[distinct++] = stack;
      }
      if (action === FREE_COMPLETED) stackAt[id] = -1;
    }
    return distinct === LEAST_STACKS;
  }

  private addChunk(index: i32): void {
    if (index === this.chunks.length) this.chunks = grown<Chunk | null>(this.chunks);
    this.chunks[index] = new Chunk();
  }

  private sum(action: u8, id: i32, size: i64, seq: i32, isKnown: bool): bool {
    if (action <= FREE_COMPLETED) {
      if (id >= this.lastState.length) this.lastState = grown<u8>(this.lastState, id + 1);
      const before = isKnown ? this.lastState[id] : NONE;
      let after = NONE;
      let isOrdered = true;
      if (action === ALLOC) {
        isOrdered = before === NONE;
        after = ALLOCATED;
        this.requested += size;
        if (this.requested > this.requestedPeak) {
          this.requestedPeak = this.requested;
          this.requestedPeakSeq = seq;
        }
      } else if (action === FREE_REQUESTED) {
        // Memory from before the trace lacks an alloc: its first free is valid in any order.
        isOrdered = before !== FREEING && before !== FREEING_OLDER;
        after = before === NONE || before === FREEING_OLDER ? FREEING_OLDER : FREEING;
      } else {
        this.requested -= size;
        if (before === NONE || before === FREEING_OLDER) this.unmatched += size;
      }
      if (isKnown) this.lastState[id] = after;
      if (!isOrdered) {
        this.disorder++;
        if (this.disorderSeq < 0) this.disorderSeq = seq;
      }
    } else if (action === SEGMENT_ALLOC || action === SEGMENT_MAP) {
      this.reserved += size;
      if (this.reserved > this.reservedPeak) this.reservedPeak = this.reserved;
    } else if (action === SEGMENT_FREE || action === SEGMENT_UNMAP) this.reserved -= size;
    return (
      this.requested <= MAX_SAFE &&
      this.requested >= -MAX_SAFE &&
      this.reserved <= MAX_SAFE &&
      this.reserved >= -MAX_SAFE &&
      this.unmatched <= MAX_SAFE
    );
  }
}
