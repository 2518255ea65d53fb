/** Size and use of the KV cache. */
import type { LineFormat } from '../contract.js';
import { figureFinding, plainNumber } from '../system/findings.js';
import { budgetFinding } from './budget-finding.js';
import { VLLM_PRODUCER } from './load.js';

export const VLLM_AVAILABLE_CACHE: LineFormat = {
  form: 'line',
  id: 'vllm.available-kv-cache',
  title: 'Memory left for the KV cache',
  producer: VLLM_PRODUCER,
  versions: '0.9 and later (V1)',
  source: 'vllm/v1/worker/gpu_worker.py, Worker.determine_available_memory',
  anchors: ['Available KV cache memory: '],
  fields: { cache: 'GiB; negative where the rest is larger than the budget' },
  pattern: /Available KV cache memory: (?<cache>-?\d{1,6}(?:\.\d{1,4})?) GiB/g,
  read: ({ cache = '' }, emit) => emit(budgetFinding('vllm.kv_cache', cache)),
  samples: [
    {
      text: 'INFO 09-24 20:53:41 [gpu_worker.py:298] Available KV cache memory: 10.65 GiB',
      rows: [budgetFinding('vllm.kv_cache', '10.65')],
    },
    { text: 'Available KV cache memory: -1.25 GiB', rows: [budgetFinding('vllm.kv_cache', '-1.25')] },
  ],
};

export const VLLM_CACHE_TOKENS: LineFormat = {
  form: 'line',
  id: 'vllm.kv-cache-tokens',
  title: 'Tokens that the KV cache holds',
  producer: VLLM_PRODUCER,
  versions: '0.8 and later (V1); both halves on one line since 2026',
  source: 'vllm/v1/core/kv_cache_utils.py; vllm/executor/executor_base.py (concurrency, V0)',
  anchors: ['GPU KV cache size: ', 'Maximum concurrency for '],
  fields: {
    tokens: 'tokens, with thousands separators',
    length: 'tokens of a request of full length',
    concurrency: 'requests of that length at once',
  },
  pattern:
    /GPU KV cache size: (?<tokens>\d[\d,]{0,16}) tokens|Maximum concurrency for (?<length>\d[\d,]{0,16}) tokens per request: (?<concurrency>\d{1,9}(?:\.\d{1,4})?)x/g,
  read({ tokens, length = '', concurrency }, emit) {
    if (tokens !== undefined) emit(figureFinding('vllm.kv_cache_tokens', plainNumber(tokens), 'tokens'));
    if (concurrency !== undefined) {
      emit(figureFinding('vllm.max_model_len', plainNumber(length), 'tokens'));
      emit(figureFinding('vllm.max_concurrency', Number(concurrency), 'count'));
    }
  },
  samples: [
    {
      text: 'INFO 09-24 20:53:41 [kv_cache_utils.py:864] GPU KV cache size: 238,208 tokens',
      rows: [figureFinding('vllm.kv_cache_tokens', 238_208, 'tokens')],
    },
    {
      text: 'INFO 02-05 10:12:23 executor_base.py:116] Maximum concurrency for 2048 tokens per request: 106.39x',
      rows: [
        figureFinding('vllm.max_model_len', 2048, 'tokens'),
        figureFinding('vllm.max_concurrency', 106.39, 'count'),
      ],
    },
    {
      text: 'GPU KV cache size: 460,496 tokens, Maximum concurrency for 131,072 tokens per request: 3.51x',
      rows: [
        figureFinding('vllm.kv_cache_tokens', 460_496, 'tokens'),
        figureFinding('vllm.max_model_len', 131_072, 'tokens'),
        figureFinding('vllm.max_concurrency', 3.51, 'count'),
      ],
    },
  ],
};

export const VLLM_CACHE_BLOCKS: LineFormat = {
  form: 'line',
  id: 'vllm.kv-cache-blocks',
  title: 'Blocks of the KV cache',
  producer: VLLM_PRODUCER,
  versions: '0.1 to 0.10 (V0); `cuda` for `GPU` since 0.6.5',
  source: 'vllm/executor/gpu_executor.py, GPUExecutor.initialize_cache; vllm/executor/executor_base.py',
  anchors: [', # CPU blocks: '],
  fields: { device: 'blocks on the device', host: 'blocks of swap space on the host' },
  pattern: /\b(?:GPU|cuda|rocm|xpu|npu) blocks: (?<device>\d{1,12}), # CPU blocks: (?<host>\d{1,12})/g,
  read({ device, host }, emit) {
    emit(figureFinding('vllm.kv_cache_blocks', Number(device), 'count'));
    emit(figureFinding('vllm.swap_blocks', Number(host), 'count'));
  },
  samples: [
    {
      text: 'INFO 02-05 10:12:23 gpu_executor.py:113] # GPU blocks: 10900, # CPU blocks: 7281',
      rows: [figureFinding('vllm.kv_cache_blocks', 10_900, 'count'), figureFinding('vllm.swap_blocks', 7281, 'count')],
    },
    {
      text: '# cuda blocks: 13618, # CPU blocks: 0',
      rows: [figureFinding('vllm.kv_cache_blocks', 13_618, 'count'), figureFinding('vllm.swap_blocks', 0, 'count')],
    },
  ],
};

export const VLLM_CACHE_USAGE: LineFormat = {
  form: 'line',
  id: 'vllm.kv-cache-usage',
  title: 'Requests in flight and share of the KV cache in use',
  producer: VLLM_PRODUCER,
  versions: '0.2 and later [mem]',
  source: 'vllm/engine/metrics.py, LoggingStatLogger.log; vllm/v1/metrics/loggers.py',
  anchors: ['GPU KV cache usage: '],
  fields: {
    running: 'requests',
    waiting: 'requests; more of them with a full cache is what preempts',
    usage: 'percent of the cache',
  },
  pattern:
    /Running: (?<running>\d{1,9}) reqs,(?: Swapped: \d{1,9} reqs,)? (?:Waiting|Pending): (?<waiting>\d{1,9}) reqs, GPU KV cache usage: (?<usage>\d{1,3}(?:\.\d{1,4})?)%/g,
  read({ running, waiting, usage }, emit) {
    emit(figureFinding('vllm.running_requests', Number(running), 'count'));
    emit(figureFinding('vllm.waiting_requests', Number(waiting), 'count'));
    emit(figureFinding('vllm.kv_cache_usage', Number(usage), '%'));
  },
  samples: [
    {
      text: 'Avg prompt throughput: 512.0 tokens/s, Avg generation throughput: 1024.5 tokens/s, Running: 64 reqs, Swapped: 0 reqs, Pending: 3 reqs, GPU KV cache usage: 97.5%, CPU KV cache usage: 0.0%.',
      rows: [
        figureFinding('vllm.running_requests', 64, 'count'),
        figureFinding('vllm.waiting_requests', 3, 'count'),
        figureFinding('vllm.kv_cache_usage', 97.5, '%'),
      ],
    },
    {
      text: 'Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 20.5 tokens/s, Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, Prefix cache hit rate: 0.0%',
      rows: [
        figureFinding('vllm.running_requests', 2, 'count'),
        figureFinding('vllm.waiting_requests', 0, 'count'),
        figureFinding('vllm.kv_cache_usage', 1.2, '%'),
      ],
    },
  ],
};
