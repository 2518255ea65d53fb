import type { LineFormat } from '../contract.js';
import { memoryFigure } from '../units.js';
import { countFinding, statMetric } from './stat-metric.js';

/**
 * A dict never breaks inside an entry, so entries are read one by one: repr of a dict, of an OrderedDict (pairs before
 * Python 3.12, braces since), pprint over many lines, JSON.
 */
export const TORCH_MEMORY_STATS: LineFormat = {
  form: 'line',
  id: 'torch.memory-stats',
  title: 'Entries of a printed torch.cuda.memory_stats()',
  producer: 'PyTorch',
  versions: '1.4 and later',
  source: 'torch/cuda/memory.py, memory_stats',
  anchors: [
    '.all.current',
    '.all.peak',
    '.all.allocated',
    '.all.freed',
    '_pool.current',
    '_pool.peak',
    '_pool.allocated',
    '_pool.freed',
    'num_alloc_retries',
    'num_ooms',
    'oversize_',
  ],
  fields: {
    key: 'of memory_stats; the common ones under the word of the model, the others as they are',
    value: 'bytes, exact, where the key ends in bytes; else a count',
  },
  pattern:
    /['"](?<key>[a-z_]{3,40}\.(?:all|large_pool|small_pool)\.(?:current|peak|allocated|freed)|num_alloc_retries|num_ooms|oversize_(?:allocations|segments)\.(?:current|peak|allocated|freed))['"][:,] ?(?<value>\d{1,19})(?![\d.]| ?\*)/g,
  read({ key = '', value = '' }, emit) {
    const metric = statMetric(key);
    emit(key.includes('_bytes.') ? memoryFigure(metric, value, 'bytes', 1) : countFinding(metric, Number(value)));
  },
};
