/**
 * The way forward over a trace whose lifetimes are known: their rows, those of the entries that they do not restore,
 * and totals in runs of 2^k entries, smallest and largest kept: what every timeline is drawn from.
 */
import { Lives } from './lives';
import { EntryRows, LifeRows } from './rows';
import {
  ACTION,
  ALLOC,
  CHUNK,
  CHUNK_BITS,
  Chunk,
  COMPLETES,
  FREE_COMPLETED,
  FREE_REQUESTED,
  LEFT_OUT,
  SEGMENT_ALLOC,
  SEGMENT_MAP,
  SEGMENT_UNMAP,
  Trace,
} from './trace';
import { ALLOCATED, PENDING, Walk } from './walk';

/** Columns of `derived_bucket`, in the order in which JavaScript has them. */
enum Bucket {
  first_seq,
  last_seq,
  first_time_us,
  last_time_us,
  allocated_min_bytes,
  allocated_max_bytes,
  active_min_bytes,
  active_max_bytes,
  reserved_min_bytes,
  reserved_max_bytes,
}
const COLUMNS: i32 = 10;

export class Forward {
  columns: StaticArray<usize> = new StaticArray<usize>(COLUMNS);
  private row: i32 = -1;
  /** The next life to begin. */
  private life: i32 = 0;
  private allocated: i64 = 0;
  private active: i64 = 0;
  private reserved: i64 = 0;
  /** By number of the address: actual size and state of the live block. */
  private size: StaticArray<i64>;
  private state: StaticArray<u8>;

  /** From the state that `walk` found before the first entry. */
  constructor(
    private trace: Trace,
    walk: Walk,
    private lives: Lives,
    private lifeRows: LifeRows,
    private entryRows: EntryRows,
  ) {
    this.size = new StaticArray<i64>(trace.addresses.count);
    this.state = new StaticArray<u8>(trace.addresses.count);
    this.active = walk.active;
    this.allocated = walk.active - walk.pending;
    this.reserved = walk.reserved;
    const blocks = walk.blocks.descending();
    for (let i = 0; i < blocks.length; i++) {
      const id = trace.addresses.of(blocks[i].address);
      this.size[id] = blocks[i].size;
      this.state[id] = blocks[i].state;
    }
  }

  /**
   * Writes all rows, and fills those of `derived_bucket`, each of `entries` entries; one ends with each entry of `cuts`
   * too (ascending i32), so that changes between two of them stay separate. Returns their number, at most `most`.
   */
  run(entries: i32, cuts: usize, cutCount: i32, most: i32): i32 {
    const trace = this.trace;
    while (this.life < this.lives.starts) this.lifeRows.add(this.life++);
    let rowEnd = -1;
    let cut = 0;
    for (let seq = 0; seq < trace.count; seq++) {
      const chunk = trace.chunk(seq >> CHUNK_BITS);
      const at = seq & (CHUNK - 1);
      const isFirst = seq === 0;
      if (seq > rowEnd) {
        if (this.row + 1 === most) unreachable();
        this.row++;
        store<i32>(this.columns[Bucket.first_seq] + (usize(this.row) << 2), seq);
        this.put(Bucket.first_time_us, chunk.timeAt(at));
        rowEnd = (seq / entries) * entries + entries - 1;
        while (cut < cutCount && load<i32>(cuts + (usize(cut) << 2)) < seq) cut++;
        if (cut < cutCount) rowEnd = min(rowEnd, load<i32>(cuts + (usize(cut) << 2)));
        // The first row has the state before the first entry too.
        if (isFirst) this.begin();
        this.apply(chunk, at, seq);
        if (isFirst) this.extend();
        else this.begin();
      } else {
        this.apply(chunk, at, seq);
        this.extend();
      }
      store<i32>(this.columns[Bucket.last_seq] + (usize(this.row) << 2), seq);
      this.put(Bucket.last_time_us, chunk.timeAt(at));
    }
    return this.row + 1;
  }

  private apply(chunk: Chunk, at: i32, seq: i32): void {
    const marked = chunk.action[at];
    const action = marked & ACTION;
    if (action > FREE_COMPLETED || (marked & LEFT_OUT) !== 0) this.entryRows.add(seq);
    if ((marked & LEFT_OUT) !== 0) return;
    const id = chunk.address.at(at);
    if (action === ALLOC) {
      const size = i64(this.lives.bytes[this.life]);
      this.lifeRows.add(this.life++);
      this.size[id] = size;
      this.state[id] = ALLOCATED;
      this.active += size;
      this.allocated += size;
    } else if (action === FREE_REQUESTED) {
      this.allocated -= this.size[id];
      this.state[id] = PENDING;
      if ((marked & COMPLETES) !== 0) this.active -= this.size[id];
    } else if (action === FREE_COMPLETED) {
      this.active -= this.size[id];
      if (this.state[id] === ALLOCATED) this.allocated -= this.size[id];
    } else if (action <= SEGMENT_UNMAP) {
      const bytes = this.trace.shapes.size[chunk.shape.at(at)];
      if (action === SEGMENT_ALLOC || action === SEGMENT_MAP) this.reserved += bytes;
      else this.reserved -= bytes;
    }
  }

  private begin(): void {
    this.put(Bucket.allocated_min_bytes, this.allocated);
    this.put(Bucket.allocated_max_bytes, this.allocated);
    this.put(Bucket.active_min_bytes, this.active);
    this.put(Bucket.active_max_bytes, this.active);
    this.put(Bucket.reserved_min_bytes, this.reserved);
    this.put(Bucket.reserved_max_bytes, this.reserved);
  }

  private extend(): void {
    this.lower(Bucket.allocated_min_bytes, this.allocated);
    this.raise(Bucket.allocated_max_bytes, this.allocated);
    this.lower(Bucket.active_min_bytes, this.active);
    this.raise(Bucket.active_max_bytes, this.active);
    this.lower(Bucket.reserved_min_bytes, this.reserved);
    this.raise(Bucket.reserved_max_bytes, this.reserved);
  }

  private put(column: i32, value: i64): void {
    store<i64>(this.columns[column] + (usize(this.row) << 3), value);
  }

  private lower(column: i32, value: i64): void {
    const place = this.columns[column] + (usize(this.row) << 3);
    if (value < load<i64>(place)) store<i64>(place, value);
  }

  private raise(column: i32, value: i64): void {
    const place = this.columns[column] + (usize(this.row) << 3);
    if (value > load<i64>(place)) store<i64>(place, value);
  }
}
