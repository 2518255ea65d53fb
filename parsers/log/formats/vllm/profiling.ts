/** What the engine found when it ran a dummy batch to see how much is left for the KV cache. All of it is divided by 2^30. */
import type { Emit, Groups, LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { GIB, memoryFigure } from '../units.js';
import { budgetFinding } from './budget-finding.js';
import { VLLM_PRODUCER } from './load.js';

const MOMENT = 'vLLM memory profiling';

/** Figures of a line by the name each group has in the store. */
function emitParts(groups: Groups, parts: Readonly<Record<string, string>>, emit: Emit): void {
  for (const [group, name] of Object.entries(parts)) {
    const text = groups[group];
    if (text !== undefined) emit(budgetFinding(name, text));
  }
}

const SENTENCE_PARTS = {
  weights: 'vllm.weights',
  nonTorch: 'vllm.non_torch',
  activation: 'vllm.peak_activation',
  cache: 'vllm.kv_cache',
} as const;

export const VLLM_PROFILING_SENTENCE: LineFormat = {
  form: 'line',
  id: 'vllm.memory-profiling@0.6.5',
  title: 'Memory profiling as a sentence: the budget, and what it goes to',
  producer: VLLM_PRODUCER,
  versions: '0.6.5 to 0.10 (V0); the sentence is one line or three',
  source: 'vllm/worker/worker.py, Worker.determine_num_available_blocks',
  anchors: ['the current vLLM instance can use', 'non_torch_memory takes '],
  fields: {
    total: 'GiB of the device, cudaMemGetInfo',
    share: 'gpu_memory_utilization',
    budget: 'GiB: share of the total',
    weights: 'GiB of the model',
    nonTorch: 'GiB that went away outside of torch: NCCL, context',
    activation: 'GiB: peak of torch while the dummy batch ran, over the weights',
    cache: 'GiB: what is left for the KV cache; may be negative',
  },
  pattern:
    /the current vLLM instance can use total_gpu_memory \((?<total>\d{1,6}\.\d{1,4})GiB\) x gpu_memory_utilization \((?<share>\d{1,2}\.\d{1,6})\) = (?<budget>\d{1,6}\.\d{1,4})GiB|model weights take (?<weights>-?\d{1,6}\.\d{1,4})GiB; non_torch_memory takes (?<nonTorch>-?\d{1,6}\.\d{1,4})GiB; PyTorch activation peak memory takes (?<activation>-?\d{1,6}\.\d{1,4})GiB; the rest of the memory reserved for KV Cache is (?<cache>-?\d{1,6}\.\d{1,4})GiB/g,
  read(groups, emit) {
    const { total, share, budget } = groups;
    if (total !== undefined) {
      emit(memoryFigure('device_total', total, 'GiB', GIB, { moment: MOMENT }));
      emit(figureFinding('vllm.gpu_memory_utilization', Number(share), null));
      emit(budgetFinding('vllm.requested', budget ?? ''));
    }
    emitParts(groups, SENTENCE_PARTS, emit);
  },
  samples: [
    {
      text: 'INFO 08-12 22:32:11 [worker.py:295] the current vLLM instance can use total_gpu_memory (79.10GiB) x gpu_memory_utilization (0.60) = 47.46GiB',
      rows: [
        memoryFigure('device_total', '79.10', 'GiB', GIB, { moment: MOMENT }),
        figureFinding('vllm.gpu_memory_utilization', 0.6, null),
        budgetFinding('vllm.requested', '47.46'),
      ],
    },
    {
      text: 'model weights take 14.25GiB; non_torch_memory takes 0.09GiB; PyTorch activation peak memory takes 4.35GiB; the rest of the memory reserved for KV Cache is 28.77GiB.',
      rows: [
        budgetFinding('vllm.weights', '14.25'),
        budgetFinding('vllm.non_torch', '0.09'),
        budgetFinding('vllm.peak_activation', '4.35'),
        budgetFinding('vllm.kv_cache', '28.77'),
      ],
    },
  ],
};

const PAIR_PARTS: ReadonlyMap<string, string> = new Map([
  ['peak_torch_memory', 'vllm.peak_torch'],
  ['non_torch_memory', 'vllm.non_torch'],
  ['kv_cache_size', 'vllm.kv_cache'],
]);
const PAIR_DEVICE: ReadonlyMap<string, readonly [metric: string, moment: string]> = new Map([
  ['total_gpu_memory', ['device_total', MOMENT]],
  ['initial_memory_usage', ['device_used', 'before vLLM memory profiling']],
]);
const PAIR = /([a-z_]{4,40})=(-?\d{1,6}\.\d{1,4})(?:Gi[bB])?/g;

export const VLLM_PROFILING_PAIRS: LineFormat = {
  form: 'line',
  id: 'vllm.memory-profiling@0.6.4',
  title: 'Memory profiling as pairs',
  producer: VLLM_PRODUCER,
  versions: '0.6.4 and its patches',
  source: 'vllm/worker/worker.py, Worker.determine_num_available_blocks',
  anchors: ['Memory profiling results: '],
  fields: {
    pairs:
      '`name=1.25GiB`: total_gpu_memory, initial_memory_usage (used before, by anybody), peak_torch_memory (weights included), non_torch_memory, kv_cache_size; gpu_memory_utilization',
  },
  pattern:
    /Memory profiling results: (?<pairs>(?:duration=\d{1,6}\.\d{1,4} seconds, )?(?:[a-z_]{4,40}=-?\d{1,6}\.\d{1,4}(?:Gi[bB])?[, .]{0,2}){1,12})/g,
  read({ pairs = '' }, emit) {
    for (const [, key = '', text = ''] of pairs.matchAll(PAIR)) {
      const device = PAIR_DEVICE.get(key);
      const part = PAIR_PARTS.get(key);
      if (device !== undefined) emit(memoryFigure(device[0], text, 'GiB', GIB, { moment: device[1] }));
      else if (part !== undefined) emit(budgetFinding(part, text));
      else if (key === 'gpu_memory_utilization') emit(figureFinding(`vllm.${key}`, Number(text), null));
    }
  },
  samples: [
    {
      text: 'INFO 12-06 17:07:09 worker.py:232] Memory profiling results: total_gpu_memory=79.10GiB initial_memory_usage=0.65GiB peak_torch_memory=15.71GiB memory_usage_post_profile=0.68GiB non_torch_memory=0.43GiB kv_cache_size=55.05GiB gpu_memory_utilization=0.90',
      rows: [
        memoryFigure('device_total', '79.10', 'GiB', GIB, { moment: MOMENT }),
        memoryFigure('device_used', '0.65', 'GiB', GIB, { moment: 'before vLLM memory profiling' }),
        budgetFinding('vllm.peak_torch', '15.71'),
        budgetFinding('vllm.non_torch', '0.43'),
        budgetFinding('vllm.kv_cache', '55.05'),
        figureFinding('vllm.gpu_memory_utilization', 0.9, null),
      ],
    },
    {
      text: 'Memory profiling results: duration=4.25 seconds, total_gpu_memory=79.10GiB, kv_cache_size=55.05GiB, gpu_memory_utilization=0.90.',
      rows: [
        memoryFigure('device_total', '79.10', 'GiB', GIB, { moment: MOMENT }),
        budgetFinding('vllm.kv_cache', '55.05'),
        figureFinding('vllm.gpu_memory_utilization', 0.9, null),
      ],
    },
  ],
};

export const VLLM_PROFILING_RESULT: LineFormat = {
  form: 'line',
  id: 'vllm.memory-profiling@0.9',
  title: 'Memory profiling of V1',
  producer: VLLM_PRODUCER,
  versions: '0.9 and later, at level DEBUG; non-torch until 2026, then the total of cudaMemGetInfo',
  source: 'vllm/utils/mem_utils.py, MemoryProfilingResult.__repr__',
  anchors: ['Total non KV cache memory: '],
  fields: {
    rest: 'GiB of everything that is no KV cache',
    activation: 'GiB: increase of the peak of torch',
    nonTorch: 'GiB: increase outside of torch; negative where somebody else freed memory',
    consumed: 'GiB of weights and outside of torch, from cudaMemGetInfo',
    weights: 'GiB of the model',
  },
  pattern:
    /Total non KV cache memory: (?<rest>-?\d{1,6}\.\d{1,4})GiB; torch peak memory increase: (?<activation>-?\d{1,6}\.\d{1,4})GiB; (?:non-torch forward increase memory: (?<nonTorch>-?\d{1,6}\.\d{1,4})GiB|total consumed \(from mem_get_info\): (?<consumed>-?\d{1,6}\.\d{1,4})GiB); weights memory: (?<weights>-?\d{1,6}\.\d{1,4})GiB/g,
  read(groups, emit) {
    emitParts(
      groups,
      {
        rest: 'vllm.non_kv_cache',
        activation: 'vllm.peak_activation',
        nonTorch: 'vllm.non_torch',
        consumed: 'vllm.consumed',
        weights: 'vllm.weights',
      },
      emit,
    );
  },
  samples: [
    {
      text: 'DEBUG 08-06 10:17:28 [gpu_worker.py:278] Memory profiling takes 7.26 seconds. Total non KV cache memory: 2.78GiB; torch peak memory increase: 0.45GiB; non-torch forward increase memory: -0.02GiB; weights memory: 2.32GiB.',
      rows: [
        budgetFinding('vllm.non_kv_cache', '2.78'),
        budgetFinding('vllm.peak_activation', '0.45'),
        budgetFinding('vllm.non_torch', '-0.02'),
        budgetFinding('vllm.weights', '2.32'),
      ],
    },
    {
      text: 'Total non KV cache memory: 17.50GiB; torch peak memory increase: 1.20GiB; total consumed (from mem_get_info): 16.00GiB; weights memory: 15.30GiB.',
      rows: [
        budgetFinding('vllm.non_kv_cache', '17.50'),
        budgetFinding('vllm.peak_activation', '1.20'),
        budgetFinding('vllm.consumed', '16.00'),
        budgetFinding('vllm.weights', '15.30'),
      ],
    },
  ],
};

export const VLLM_FREE_MEMORY: LineFormat = {
  form: 'line',
  id: 'vllm.free-memory',
  title: 'Free memory around the profiling run',
  producer: VLLM_PRODUCER,
  versions: '0.10 and later, at level DEBUG; INFO where kv_cache_memory_bytes is set',
  source: 'vllm/v1/worker/gpu_worker.py, Worker.determine_available_memory',
  anchors: ['GiB; Requested memory: ', 'Free memory after profiling: ', 'GiB memory for KV Cache as specified'],
  fields: {
    before: 'GiB free when the worker started',
    share: 'gpu_memory_utilization',
    requested: 'GiB: share of the total',
    after: 'GiB free after the dummy batch',
    start: 'GiB free when the worker started',
    reserved: 'GiB that the configuration gives to the KV cache',
  },
  pattern:
    /Initial free memory: (?<before>\d{1,6}\.\d{1,4}) GiB; Requested memory: (?<share>\d{1,2}\.\d{1,6}) \(util\), (?<requested>\d{1,6}\.\d{1,4}) GiB|Free memory after profiling: (?<after>\d{1,6}\.\d{1,4}) GiB|Initial free memory (?<start>\d{1,6}\.\d{1,4}) GiB, reserved (?<reserved>\d{1,6}\.\d{1,4}) GiB memory for KV Cache as specified/g,
  read({ before, share, requested, after, start, reserved }, emit) {
    const free = before ?? start;
    if (free !== undefined)
      emit(memoryFigure('device_free', free, 'GiB', GIB, { moment: 'before vLLM memory profiling' }));
    if (after !== undefined)
      emit(memoryFigure('device_free', after, 'GiB', GIB, { moment: 'after vLLM memory profiling' }));
    if (share !== undefined) emit(figureFinding('vllm.gpu_memory_utilization', Number(share), null));
    if (requested !== undefined) emit(budgetFinding('vllm.requested', requested));
    if (reserved !== undefined) emit(budgetFinding('vllm.kv_cache', reserved));
  },
  samples: [
    {
      text: 'DEBUG 08-06 10:17:28 [gpu_worker.py:265] Initial free memory: 43.82 GiB; Requested memory: 0.90 (util), 39.88 GiB',
      rows: [
        memoryFigure('device_free', '43.82', 'GiB', GIB, { moment: 'before vLLM memory profiling' }),
        figureFinding('vllm.gpu_memory_utilization', 0.9, null),
        budgetFinding('vllm.requested', '39.88'),
      ],
    },
    {
      text: 'Free memory after profiling: 41.43 GiB (total), 37.49 GiB (within requested)',
      rows: [memoryFigure('device_free', '41.43', 'GiB', GIB, { moment: 'after vLLM memory profiling' })],
    },
    {
      text: 'Initial free memory 78.66 GiB, reserved 20.00 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling.',
      rows: [
        memoryFigure('device_free', '78.66', 'GiB', GIB, { moment: 'before vLLM memory profiling' }),
        budgetFinding('vllm.kv_cache', '20.00'),
      ],
    },
  ],
};

export const VLLM_ACTUAL_USAGE: LineFormat = {
  form: 'line',
  id: 'vllm.actual-usage',
  title: 'What the engine asked for and what it uses',
  producer: VLLM_PRODUCER,
  versions: '0.10.2 and later; weight and non-torch apart until 2026, then together',
  source: 'vllm/v1/worker/gpu_worker.py, Worker.compile_or_warm_up_model',
  anchors: ['on startup. Desired GPU memory utilization'],
  fields: {
    free: 'GiB free when the worker started; rounded to two digits, zeros not printed',
    total: 'GiB of the device',
    share: 'gpu_memory_utilization',
    requested: 'GiB: share of the total',
    weights: 'GiB of the model',
    consumed: 'GiB of weights and outside of torch',
    activation: 'GiB at the peak of the dummy batch',
    nonTorch: 'GiB outside of torch',
    graphs: 'GiB that capturing graphs took',
    cache: 'GiB of the KV cache',
    cacheBytes: 'its bytes, before 0.11',
  },
  pattern:
    /Free memory on device(?: [a-z]{2,5}:\d{1,3})? \((?<free>\d{1,6}(?:\.\d{1,4})?)\/(?<total>\d{1,6}(?:\.\d{1,4})?) GiB\) on startup\. Desired GPU memory utilization is \((?<share>\d{1,2}(?:\.\d{1,6})?), (?<requested>\d{1,6}(?:\.\d{1,4})?) GiB\)\.(?: Actual usage is (?:(?<weights>-?\d{1,6}(?:\.\d{1,4})?) GiB for weight|(?<consumed>-?\d{1,6}(?:\.\d{1,4})?) GiB for consumed memory \(weights \+ non-torch\)), (?<activation>-?\d{1,6}(?:\.\d{1,4})?) GiB for peak activation,(?: (?<nonTorch>-?\d{1,6}(?:\.\d{1,4})?) GiB for non-torch memory,)? and (?<graphs>-?\d{1,6}(?:\.\d{1,4})?) GiB for CUDAGraph memory\.(?:[^\n]{0,400}? Current kv cache memory in use is (?:(?<cache>-?\d{1,6}(?:\.\d{1,4})?) GiB|(?<cacheBytes>\d{1,16}) bytes))?)?/g,
  read(groups, emit) {
    const { free = '', total = '', share, requested = '', cacheBytes } = groups;
    // Rounded, not formatted: `0.4` is 0.40.
    const more = { moment: 'vLLM worker startup' };
    emit(memoryFigure('device_free', free, 'GiB', GIB, more, 0.005));
    emit(memoryFigure('device_total', total, 'GiB', GIB, more, 0.005));
    emit(figureFinding('vllm.gpu_memory_utilization', Number(share), null));
    emit(budgetFinding('vllm.requested', requested));
    emitParts(
      groups,
      {
        weights: 'vllm.weights',
        consumed: 'vllm.consumed',
        activation: 'vllm.peak_activation',
        nonTorch: 'vllm.non_torch',
        graphs: 'vllm.cuda_graphs',
        cache: 'vllm.kv_cache',
      },
      emit,
    );
    if (cacheBytes !== undefined) emit(figureFinding('vllm.kv_cache', Number(cacheBytes), 'bytes'));
  },
  samples: [
    {
      text: 'INFO 09-23 18:12:39 [gpu_worker.py:391] Free memory on device (78.66/79.19 GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). Actual usage is 14.08 GiB for weight, 1.97 GiB for peak activation, 0.07 GiB for non-torch memory, and 0.67 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=58333988249` to fit into requested memory, or `--kv-cache-memory=66273897472` to fully utilize gpu memory. Current kv cache memory in use is 59212694937 bytes.',
      rows: [
        memoryFigure('device_free', '78.66', 'GiB', GIB, { moment: 'vLLM worker startup' }),
        memoryFigure('device_total', '79.19', 'GiB', GIB, { moment: 'vLLM worker startup' }),
        figureFinding('vllm.gpu_memory_utilization', 0.9, null),
        budgetFinding('vllm.requested', '71.27'),
        budgetFinding('vllm.weights', '14.08'),
        budgetFinding('vllm.peak_activation', '1.97'),
        budgetFinding('vllm.non_torch', '0.07'),
        budgetFinding('vllm.cuda_graphs', '0.67'),
        figureFinding('vllm.kv_cache', 59_212_694_937, 'bytes'),
      ],
    },
    {
      text: 'Free memory on device (78.84/79.25 GiB) on startup. Desired GPU memory utilization is (0.92, 72.9 GiB). Actual usage is 15.26 GiB for consumed memory (weights + non-torch), 1.44 GiB for peak activation, and 0.23 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=59407858586` (55.33 GiB) to fit into requested memory. Current kv cache memory in use is 56.2 GiB.',
      rows: [
        memoryFigure('device_free', '78.84', 'GiB', GIB, { moment: 'vLLM worker startup' }),
        memoryFigure('device_total', '79.25', 'GiB', GIB, { moment: 'vLLM worker startup' }),
        figureFinding('vllm.gpu_memory_utilization', 0.92, null),
        budgetFinding('vllm.requested', '72.9'),
        budgetFinding('vllm.consumed', '15.26'),
        budgetFinding('vllm.peak_activation', '1.44'),
        budgetFinding('vllm.cuda_graphs', '0.23'),
        budgetFinding('vllm.kv_cache', '56.2'),
      ],
    },
    {
      text: 'ValueError: Free memory on device (11.25/39.50 GiB) on startup is less than desired GPU memory utilization (0.9, 35.55 GiB).',
      rows: [],
    },
  ],
};
