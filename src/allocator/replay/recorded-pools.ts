/**
 * The private pool of a recorded request, and the pools that a recorded flush may take. Requests do not contain them;
 * the record shows them.
 */
import type { Block, PoolId, Segment } from '../caching/block.js';
import type { CachingAllocator } from '../caching/caching-allocator.js';
import type { PoolPair } from '../caching/pools.js';
import type { RecordedDriver } from './recorded-driver.js';
import type { Recording } from './recording.js';
import type { ReleasedPool } from './replay-outcome.js';

export class RecordedPools {
  private readonly recording: Recording;
  private readonly allocator: CachingAllocator<never>;
  private readonly driver: RecordedDriver;
  /** Those that the flush in progress may take. */
  private readonly opened: PoolPair<never>[] = [];
  readonly released: ReleasedPool[] = [];
  private numbers: ReadonlyMap<string, number> | undefined;
  /** Flushes that took several of them. */
  orders = 0;

  constructor(recording: Recording, allocator: CachingAllocator<never>, driver: RecordedDriver) {
    this.recording = recording;
    this.allocator = allocator;
    this.driver = driver;
  }

  /**
   * Directs the request of `row` to its private pool; ends with the returned call. Undefined if it is of the default
   * pool.
   */
  enter(row: number): (() => void) | undefined {
    const { poolOf, events } = this.recording;
    const pool = poolOf.size === 0 ? undefined : poolOf.get(events.seq[row]!);
    if (pool === undefined) return undefined;
    const id = this.recording.poolId(pool);
    const stream = events.stream[row]!;
    this.allocator.addPool(id, { customAllocator: this.recording.customPools.has(pool) });
    this.allocator.beginRedirect(id, Number.isNaN(stream) ? 0 : stream);
    return () => this.allocator.endRedirect(id);
  }

  /**
   * A flush gives segments of a private pool back only when nothing holds the pool any more, which the record shows by
   * their going back. The pool of the request at `row` itself is held; what goes back of it is oversize. Ends with
   * {@link close}.
   */
  open(row: number): void {
    if (this.recording.poolOf.size === 0 && !this.recording.start.segments.pool.some((pool) => pool !== 0)) return;
    const { address } = this.recording.events;
    const rows = new Map<number, number>();
    for (let i = this.driver.next(); i >= 0 && i < row; i += 1) if (this.driver.isRelease(i)) rows.set(address[i]!, i);
    if (rows.size === 0) return;
    const requestId = this.idOf(row);
    const { segments, pools } = this.allocator.parts();
    /** The first row that shows a pool going back. */
    const shown = new Map<PoolPair<never>, number>();
    for (const segment of segments) {
      const { id } = segment.pool;
      if ((id[0] === 0 && id[1] === 0) || (id[0] === requestId[0] && id[1] === requestId[1])) continue;
      const first = firstRelease(segment, rows);
      if (first === undefined) continue;
      const pair = pools.get(id);
      shown.set(pair, Math.min(first, shown.get(pair) ?? first));
    }
    const inOrder = [...shown].sort(([, a], [, b]) => a - b).map(([pair]) => pair);
    const seq = this.recording.events.seq[this.driver.next()]!;
    for (const pair of inOrder) {
      this.released.push({ seq, pool: this.numberOf(pair.id) });
      pair.users = 0;
      this.opened.push(pair);
    }
    // Torch walks a hash map of pools: their order follows from no rule.
    pools.arrange(inOrder);
    if (inOrder.length > 1) this.orders += 1;
  }

  private numberOf(id: PoolId): number {
    const { poolOf, start, poolId } = this.recording;
    this.numbers ??= new Map([...poolOf.values(), ...start.segments.pool].map((pool) => [poolId(pool).join(), pool]));
    return this.numbers.get(id.join()) ?? 0;
  }

  close(): void {
    for (const pair of this.opened) pair.users = 1;
    this.opened.length = 0;
  }

  private idOf(row: number): PoolId {
    const pool = this.recording.poolOf.get(this.recording.events.seq[row] ?? -1);
    return pool === undefined ? [0, 0] : this.recording.poolId(pool);
  }
}

/** The first of `rows`, by address, that gives memory of the segment back. */
function firstRelease(segment: Segment<never>, rows: ReadonlyMap<number, number>): number | undefined {
  const { addr, unitBytes } = segment;
  if (unitBytes === 0) return rows.get(addr);
  // Where a reservation ends is not known; the model's may reach over others. Mapped ranges do not.
  let end = addr;
  for (let block: Block<never> | null = segment.first; block !== null; block = block.next)
    if (block.mapped) end = block.addr + block.sizeBytes;
  let first: number | undefined;
  for (const [address, row] of rows) if (address >= addr && address < end) first = Math.min(row, first ?? row);
  return first;
}
