/** Words for memory that is free in private pools (CUDA graphs, MemPool). */
import { formatBytes } from '../../../model/units.js';
import { type CauseWords, numberOf, unknownReason } from './words.js';

export const graphPools: CauseWords = (answer, facts, evidence) => {
  const idle = (): string => formatBytes(numberOf(answer, 'idle_in_pools_bytes'));
  switch (answer.reason) {
    case 'figures_missing':
      return { text: 'reserved, allocated and free bytes' };
    case 'not_in_message':
      return { text: 'a memory snapshot, or a message of torch 2.5 or newer' };
    case 'nothing_free':
      return { text: 'no private pool holds free memory' };
    case 'does_not_decide':
      return { text: `${idle()} free in private pools do not decide it` };
    case 'full_in_any_case':
      return {
        text: `without the ${idle()} free in private pools only ${formatBytes(numberOf(answer, 'spare_bytes'))} of ${formatBytes(numberOf(answer, 'limit_bytes'))} would be left: the device is full in any case`,
      };
    case 'free_in_pools':
      evidence.add(
        `${idle()} are free inside private pools, out of reach for this request`,
        facts.privatePoolFree!.source,
      );
      return {
        text: `private pools (CUDA graphs) hold ${idle()} that the request could have used`,
        next: ['capture fewer or smaller graphs, or share one pool between them'],
        doubts: answer.doubts.map(
          () =>
            `${formatBytes(numberOf(answer, 'cached_elsewhere_bytes'))} in small pieces of the default pool would be enough in sum`,
        ),
      };
  }
  return unknownReason(answer);
};
