/**
 * The default pool, private pools, and which of them a request goes to. Upstream: `get_pool` and `PrivatePool` in
 * `CUDACachingAllocator.cpp`.
 */
import { MbfError } from '../../model/errors.js';
import type { AllocatorVariant } from '../variants.js';
import type { Pool, PoolId } from './block.js';

export interface PoolOptions {
  /**
   * `graph`: a capture that was given no pool makes it; `user`: a `torch.cuda.MemPool` or `graph_pool_handle()`.
   * Default `graph`.
   */
  readonly kind?: 'graph' | 'user';
  readonly noSplit?: boolean;
  readonly useOnOom?: boolean;
  readonly customAllocator?: boolean;
}

export interface PoolPair<S> {
  readonly id: PoolId;
  readonly small: Pool<S>;
  readonly large: Pool<S>;
  readonly useOnOom: boolean;
  /** Graphs and MemPool objects that hold it; at 0 a flush may take its segments. */
  users: number;
}

interface Redirection<S> {
  readonly pair: PoolPair<S>;
  /** Null: any stream, as `use_mem_pool` claims a thread. */
  readonly stream: number | null;
  readonly capture: boolean;
  /** No flush and no polling of events meanwhile. */
  readonly forbidsFlush: boolean;
}

const DEFAULT_ID: PoolId = [0, 0];

function makePair<S>(id: PoolId, options: PoolOptions): PoolPair<S> {
  const half = (kind: 'small' | 'large'): Pool<S> => ({
    id,
    kind,
    noSplit: options.noSplit ?? false,
    customAllocator: options.customAllocator ?? false,
    freeSets: new Map(),
    unmapped: new Map(),
    calls: 0,
    reservedBytes: 0,
  });
  return { id, small: half('small'), large: half('large'), useOnOom: options.useOnOom ?? false, users: 1 };
}

const keyOf = (id: PoolId): string => id.join();

export class Pools<S> {
  readonly default: PoolPair<S> = makePair(DEFAULT_ID, {});
  private readonly privatePairs = new Map<string, PoolPair<S>>();
  private readonly variant: AllocatorVariant;
  private redirections: Redirection<S>[] = [];
  private made = 0;
  /** No flush, no polling of events. */
  private capturing = false;

  constructor(variant: AllocatorVariant) {
    this.variant = variant;
  }

  get isCapturing(): boolean {
    return this.capturing;
  }

  /** Private pools in order of creation. */
  private(): IterableIterator<PoolPair<S>> {
    return this.privatePairs.values();
  }

  create(options: PoolOptions): PoolId {
    this.made += 1;
    return this.add(options.kind === 'user' ? [0, this.made] : [this.made, 0], options).id;
  }

  /** A pool with a given id, as a replay needs it; the one that exists, if it does. */
  add(id: PoolId, options: PoolOptions): PoolPair<S> {
    const known = this.find(id);
    if (known !== undefined) {
      // Who asks for it holds it.
      if (known.users === 0) known.users = 1;
      return known;
    }
    const pair = makePair<S>(id, options);
    this.privatePairs.set(keyOf(id), pair);
    return pair;
  }

  /** Puts private pools behind the others, in this order: a flush takes them so. */
  arrange(pairs: readonly PoolPair<S>[]): void {
    for (const pair of pairs) {
      const key = keyOf(pair.id);
      if (this.privatePairs.delete(key)) this.privatePairs.set(key, pair);
    }
  }

  get(id: PoolId): PoolPair<S> {
    const pair = this.find(id);
    if (pair === undefined) throw new MbfError('MBF9001', `allocator model: no pool (${id.join(', ')})`);
    return pair;
  }

  begin(
    id: PoolId,
    stream: number | null,
    capture: boolean,
    forbidsFlush = capture || this.variant.poolUseCountsAsCapture,
  ): void {
    this.redirections.push({ pair: this.get(id), stream, capture, forbidsFlush });
    this.updateCapturing();
  }

  end(id: PoolId, capture: boolean): void {
    const at = this.redirections.findLastIndex(
      (redirection) => redirection.pair === this.get(id) && redirection.capture === capture,
    );
    if (at < 0) throw new MbfError('MBF9001', `allocator model: pool (${id.join(', ')}) is not in use`);
    this.redirections.splice(at, 1);
    this.updateCapturing();
  }

  /** Where a request on `stream` is served from. */
  select(stream: number): PoolPair<S> {
    if (this.redirections.length === 0) return this.default;
    const matches = (redirection: Redirection<S>): boolean =>
      redirection.stream === null || redirection.stream === stream;
    const match =
      this.variant.redirection === 'oldest' ? this.redirections.find(matches) : this.redirections.findLast(matches);
    return match?.pair ?? this.default;
  }

  /** Forgets a private pool that nothing holds, that serves no requests now and that holds nothing. */
  dropIfEmpty(pair: PoolPair<S>): void {
    if (pair.users > 0 || pair.small.reservedBytes + pair.large.reservedBytes > 0) return;
    if (!this.redirections.some((redirection) => redirection.pair === pair)) this.privatePairs.delete(keyOf(pair.id));
  }

  find(id: PoolId): PoolPair<S> | undefined {
    return id[0] === 0 && id[1] === 0 ? this.default : this.privatePairs.get(keyOf(id));
  }

  private updateCapturing(): void {
    this.capturing = this.redirections.some(({ forbidsFlush }) => forbidsFlush);
  }
}
