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
};
