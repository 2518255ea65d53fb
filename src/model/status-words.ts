/** How a run ended, in words: for screens, and for errors about runs that cannot serve. */
import type { MeasuredStatus } from './measurement.js';
import { formatCount } from './units.js';

export function statusWords(status: MeasuredStatus): string {
  switch (status.ending) {
    case 'completed':
      return 'completed';
    case 'stopped':
      return status.last_iteration === null
        ? 'ends without a word'
        : `ends without a word after iteration ${formatCount(status.last_iteration)}`;
    case 'no_training':
      return 'no training seen';
    case 'oom': {
      const { verdict } = status;
      return verdict === null
        ? 'out of memory'
        : `out of memory: ${[verdict.cause, verdict.detail].filter(Boolean).join(', ').replaceAll('_', ' ')}`;
    }
    case 'failed':
      return status.failure === null ? 'failed' : `failed: ${status.failure.kind.replaceAll('_', ' ')}`;
  }
}
