/** The missing memory is in private pools (CUDA graphs, MemPool), which the default pool can never use. */
import { formatBytes } from '../../../model/units.js';
import { type CauseTest, numbersOf, sums } from '../facts.js';
import { POOLS_DOMINATE } from '../thresholds.js';

export const graphPools: CauseTest = {
  cause: 'graph_pools',
  run(facts, evidence) {
    const sum = sums(facts);
    const idle = facts.privatePoolFree;
    if (sum === null || facts.reserved === null) {
      return { outcome: 'not_testable', needs: 'reserved, allocated and free bytes', capture: 'whole_oom_message' };
    }
    if (idle === null) {
      return {
        outcome: 'not_testable',
        needs: 'a memory snapshot, or a message of torch 2.5 or newer',
        capture: 'snapshot_at_oom',
      };
    }
    const otherLiveBytes = Math.max(0, facts.reserved.bytes - sum.liveBytes - idle.bytes);
    const numbers = { ...numbersOf(sum), idle_in_pools_bytes: idle.bytes, cached_elsewhere_bytes: otherLiveBytes };
    if (idle.bytes === 0) return { outcome: 'fails', why: 'no private pool holds free memory', numbers };
    const fitsWithIdle = sum.shortBytes <= 0;
    const fitsWithout = sum.shortBytes + idle.bytes <= 0;
    // Small free pieces may barely add up without the pools; the pools still hold what was missing.
    const dominates = idle.bytes >= POOLS_DOMINATE * otherLiveBytes && idle.bytes >= sum.needBytes;
    if (!fitsWithIdle || (fitsWithout && !dominates)) {
      return { outcome: 'fails', why: `${formatBytes(idle.bytes)} free in private pools do not decide it`, numbers };
    }
    evidence.add(
      `${formatBytes(idle.bytes)} are free inside private pools, out of reach for this request`,
      idle.source,
    );
    return {
      outcome: 'holds',
      detail: null,
      confidence: idle.precisionBytes === 0 ? 'high' : 'medium',
      summary: `private pools (CUDA graphs) hold ${formatBytes(idle.bytes)} that the request could have used`,
      next: ['capture fewer or smaller graphs, or share one pool between them'],
      numbers,
      doubts: fitsWithout
        ? [`${formatBytes(otherLiveBytes)} in small pieces of the default pool would be enough in sum`]
        : [],
    };
  },
};
