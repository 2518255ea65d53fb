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
    value: 'bytes, exact, where the key says bytes; else a count',
  },
  pattern:
    /['"](?<key>[a-z_]{3,40}\.(?:all|large_pool|small_pool)\.(?:current|peak|allocated|freed)|num_alloc_retries|num_ooms|oversize_(?:allocations|segments)\.(?:current|peak|allocated|freed))['"][:,] ?(?<value>\d{1,19})(?![\d.]| ?\*)/g,
  read({ key = '', value = '' }, emit) {
    const metric = statMetric(key);
    emit(key.includes('_bytes.') ? memoryFigure(metric, value, 'bytes', 1) : countFinding(metric, Number(value)));
  },
  samples: [
    {
      text: "OrderedDict([('active.all.peak', 412), ('allocated_bytes.all.current', 6442450944), ('num_alloc_retries', 2), ('max_split_size', -1)])",
      rows: [
        countFinding('active.all.peak', 412),
        {
          row: 'memory',
          metric: 'allocated',
          bytes: 6_442_450_944,
          value: 6_442_450_944,
          unit: 'bytes',
          precisionBytes: 0,
        },
        countFinding('alloc_retries', 2),
      ],
    },
    {
      text: " 'inactive_split_bytes.all.peak': 73400320,",
      rows: [
        {
          row: 'memory',
          metric: 'max_inactive_split',
          bytes: 73_400_320,
          value: 73_400_320,
          unit: 'bytes',
          precisionBytes: 0,
        },
      ],
    },
    {
      text: '"num_ooms": 0, "reserved_bytes.small_pool.current": 2097152',
      rows: [
        countFinding('ooms', 0),
        {
          row: 'memory',
          metric: 'reserved_bytes.small_pool.current',
          bytes: 2_097_152,
          value: 2_097_152,
          unit: 'bytes',
          precisionBytes: 0,
        },
      ],
    },
    { text: "memory_keys = {'active_bytes.all.current': 'mem-active-bytes'}", rows: [] },
  ],
};
