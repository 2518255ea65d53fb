/** What is missing lies in private pools (CUDA graphs, MemPool), which the default pool can never use. */
import { formatBytes } from '../../model/units.js';
import { active, budget, type CauseTest } from './facts.js';

export const graphPools: CauseTest = {
  cause: 'graph_pools',
  run(facts, evidence) {
    const limit = budget(facts);
    const live = active(facts);
    const idle = facts.privatePoolFree;
    if (limit === null || live === null)
      return { outcome: 'not_testable', needs: 'reserved, allocated and free bytes' };
    if (idle === null)
      return { outcome: 'not_testable', needs: 'a memory snapshot, or a message of torch 2.5 or newer' };
    if (idle.bytes === 0) return { outcome: 'fails', why: 'no private pool holds free memory' };
    const need = facts.requestAtLeastBytes;
    const fitsWithIdle = live.bytes + need <= limit.bytes;
    const fitsWithout = live.bytes + need + idle.bytes <= limit.bytes;
    if (!fitsWithIdle || fitsWithout) {
      return { outcome: 'fails', why: `${formatBytes(idle.bytes)} free in private pools do not decide it` };
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
    };
  },
};
