/**
 * Differences between torch releases in the allocator's decisions. A snapshot does not contain the release that wrote
 * it, so a replay tries the variants; ties between free blocks of one size are the only place where the results of the
 * last three differ on common runs.
 */

/** Second sorting key of the free blocks, after stream and size. */
export type TieBreak =
  | 'address'
  /** A number every new block object takes: the front of a split gets a new one, the remainder keeps its own. */
  | 'block_counter'
  /** A number every segment takes and its blocks inherit; then the address. */
  | 'segment_counter';

export interface AllocatorVariant {
  readonly tieBreak: TieBreak;
  /** When pools made with `MemPool(use_on_oom=True)` serve a failing request of the default pool. */
  readonly oomPools: 'never' | 'before_flush' | 'after_flush';
  /** Which redirection wins when several pools claim a request. */
  readonly redirection: 'oldest' | 'newest';
  /** `use_mem_pool` forbids flushing and polling of events, as a graph capture does. */
  readonly poolUseCountsAsCapture: boolean;
}

/**
 * By the first release that behaves so. Upstream: `CUDACachingAllocator.cpp`; 2.7 and later are inferred from the dates
 * of the pull requests (178362 for 2.12; 182929, 183489 and 183591 for 2.13).
 */
export const ALLOCATOR_VARIANTS = {
  '2.1': { tieBreak: 'address', oomPools: 'never', redirection: 'oldest', poolUseCountsAsCapture: true },
  '2.7': { tieBreak: 'address', oomPools: 'after_flush', redirection: 'oldest', poolUseCountsAsCapture: true },
  '2.12': { tieBreak: 'block_counter', oomPools: 'before_flush', redirection: 'newest', poolUseCountsAsCapture: false },
  '2.13': {
    tieBreak: 'segment_counter',
    oomPools: 'before_flush',
    redirection: 'newest',
    poolUseCountsAsCapture: false,
  },
} as const satisfies Record<string, AllocatorVariant>;

/** What every release from 2.1 to 2.11 does where no MemPool has `use_on_oom`. */
export const DEFAULT_VARIANT: AllocatorVariant = ALLOCATOR_VARIANTS['2.7'];
