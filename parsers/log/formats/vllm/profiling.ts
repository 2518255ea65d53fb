/**
 * What the engine found when it ran a dummy batch to see how much is left for the KV cache. All of it is divided by
 * 2^30.
 */
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
const PAIR = /(?<![a-z_])([a-z_]{4,40})=(-?\d{1,6}\.\d{1,4})(?:Gi[bB])?/g;

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
      '`name=1.25GiB`: total_gpu_memory, initial_memory_usage (used before, by any process), peak_torch_memory (weights included), non_torch_memory, kv_cache_size; gpu_memory_utilization',
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
    rest: 'GiB of everything except the KV cache',
    activation: 'GiB: increase of the peak of torch',
    nonTorch: 'GiB: increase outside of torch; negative where another process freed memory',
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
};

export const VLLM_ACTUAL_USAGE: LineFormat = {
  form: 'line',
  id: 'vllm.actual-usage',
  title: 'What the engine requested and what it uses',
  producer: VLLM_PRODUCER,
  versions: '0.10.2 and later; weight and non-torch separate until 2026, then together',
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
};
