/** Allocations of the driver from an export, with everything that may show their owner. */
import { pick } from '../../model/pick.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { type RangePath, rangePaths } from './range-paths.js';

/** The call is without the version at its end. */
const FIELDS = ['pid', 'device', 'kind', 'address', 'bytes', 'api', 'thread', 'library'] as const;

export interface DriverAllocation extends Pick<QueryRow<'nsys.allocations'>, (typeof FIELDS)[number]> {
  /** Null: before the capture, or its record was lost. */
  readonly allocNs: number | null;
  /** Null: held at the end. */
  readonly freeNs: number | null;
  readonly origin: 'traced' | 'before_capture' | 'allocation_lost';
  readonly isInPool: boolean;
  /** Of the call chain, innermost first. */
  readonly modules: readonly string[];
  /** NVTX ranges of the calling thread, outermost first. */
  readonly ranges: readonly string[];
  /** One of these ranges is of NCCL's own domain. */
  readonly isInNccl: boolean;
}

/**
 * Kinds of memory on the device. Managed memory counts although it may have moved to the host: the capture does not
 * show its place.
 */
export const ON_DEVICE: ReadonlySet<string> = new Set([
  'device',
  'array',
  'managed',
  'device_static',
  'managed_static',
]);

const NO_PATH: RangePath = { texts: [], isNccl: false };

/** `ranges`: whether to find the NVTX ranges of each, which needs a walk over all of them. */
export async function readDriverAllocations(
  store: Store,
  sourceId: number,
  { ranges: wantsRanges } = { ranges: true },
): Promise<DriverAllocation[]> {
  const rows = await store.all('nsys.allocations', { source_id: sourceId });
  const asks = rows.map(({ pid, tid, api_ns }, index) => ({ index, pid, tid, timeNs: api_ns }));
  const paths = wantsRanges ? await rangePaths(store, sourceId, asks) : new Map<number, RangePath>();
  return rows.map((row, i) => {
    const path = paths.get(i) ?? NO_PATH;
    return {
      ...pick(row, FIELDS),
      allocNs: row.alloc_ns,
      freeNs: row.free_ns,
      origin: row.origin as DriverAllocation['origin'],
      isInPool: row.pool_address !== null && row.pool_address > 0,
      modules: row.modules === null ? [] : row.modules.split('\n'),
      ranges: path.texts,
      isInNccl: path.isNccl,
    };
  });
}

/**
 * Whether it is held at `timeNs`, after the events at exactly that time. Memory freed without an allocation was held
 * since before the capture.
 */
export function isLiveAt({ origin, allocNs, freeNs }: DriverAllocation, timeNs: number): boolean {
  if (origin === 'allocation_lost') return false;
  return (allocNs === null || allocNs <= timeNs) && (freeNs === null || freeNs > timeNs);
}
