import type { LineCode } from '../contract.js';
import { memoryFigure } from '../units.js';
import { countFinding, statMetric } from './stat-metric.js';

/**
 * A dict never breaks inside an entry, so entries are read one by one: repr of a dict, of an OrderedDict (pairs before
 * Python 3.12, braces since), pprint over many lines, JSON.
 */
export const TORCH_MEMORY_STATS: LineCode = {
  id: 'torch.memory-stats',
  read({ key = '', value = '' }, emit) {
    const metric = statMetric(key);
    emit(key.includes('_bytes.') ? memoryFigure(metric, value, 'bytes', 1) : countFinding(metric, Number(value)));
  },
};
