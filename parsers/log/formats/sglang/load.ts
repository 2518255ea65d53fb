/**
 * Start of an SGLang server: weights, pools. Its GB are 2^30 throughout (get_available_gpu_memory divides by 1 << 30,
 * memory_pool.py by 1024^3).
 */
import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { GIB, memoryFigure } from '../units.js';
import { budgetFinding } from '../vllm/budget-finding.js';

export const SGLANG_PRODUCER = 'SGLang';

const free = (text: string, moment: string) => memoryFigure('device_free', text, 'GB', GIB, { moment });

export const SGLANG_WEIGHTS: LineFormat = {
  form: 'line',
  id: 'sglang.load-weight',
  title: 'Weights are loaded',
  producer: SGLANG_PRODUCER,
  versions: '0.2 and later; `mem usage` since 0.4.6, `elapsed` since 0.5.6',
  source: 'python/sglang/srt/model_executor/model_runner.py, ModelRunner.load_model',
  anchors: ['Load weight begin. ', 'Load weight end. '],
  fields: {
    begin: 'GiB free before, the least of the ranks',
    seconds: 'seconds',
    model: 'class of the model; a draft model is loaded after the main one',
    end: 'GiB free after, of this rank',
    weights: 'GiB: the difference; negative where memory was given back meanwhile',
  },
  pattern:
    /Load weight begin\. avail mem=(?<begin>\d{1,6}\.\d{1,4}) GB|Load weight end\. (?:elapsed=(?<seconds>\d{1,7}\.\d{1,4}) s, )?(?:type=(?<model>\w{1,100}), )?(?:[a-z_]{1,20}=[^,\n]{1,60}, ){0,6}avail mem=(?<end>\d{1,6}\.\d{1,4}) GB(?:, mem usage=(?<weights>-?\d{1,6}\.\d{1,4}) GB)?/g,
  read({ begin, seconds, model, end, weights }, emit) {
    if (begin !== undefined) {
      emit({ row: 'phase', phase: 'model_build', label: 'SGLang: Load weight begin' });
      emit(free(begin, 'SGLang: Load weight begin'));
      return;
    }
    emit(free(end ?? '', 'SGLang: Load weight end'));
    if (weights !== undefined)
      emit(budgetFinding('sglang.weights', weights, model === undefined ? {} : { text: model }));
    if (seconds !== undefined) emit(figureFinding('sglang.load_time', Number(seconds), 's'));
  },
};

export const SGLANG_POOLS: LineFormat = {
  form: 'line',
  id: 'sglang.memory-pools',
  title: 'Pools of the KV cache and of state-space layers',
  producer: SGLANG_PRODUCER,
  versions: '0.2 and later; sizes since 0.4.4; dtype since 0.5.8',
  source:
    'python/sglang/srt/model_executor/model_runner.py, ModelRunner.init_memory_pool; python/sglang/srt/mem_cache/memory_pool.py, MHATokenToKVPool, MLATokenToKVPool, MambaPool; swa_memory_pool.py',
  anchors: ['Memory pool end. ', 'KV Cache is allocated. ', 'Mamba Cache is allocated. ', 'SWAKVPool mem usage: '],
  fields: {
    end: 'GiB free after all pools',
    tokens: 'tokens of the pool',
    keys: 'GiB of keys',
    values: 'GiB of values',
    both: 'GiB of both (latent attention)',
    slots: 'requests with a state that fits',
    states: 'sizes of the states, `conv_state size: 0.03GB, …`',
    window: 'GiB of the pools of sliding-window and full attention together',
  },
  pattern:
    /Memory pool end\. avail mem=(?<end>\d{1,6}\.\d{1,4}) GB|KV Cache is allocated\. (?:dtype: [\w.]{1,40}, )?#tokens: (?<tokens>\d{1,16})(?:, K size: (?<keys>\d{1,6}\.\d{1,4}) GB, V size: (?<values>\d{1,6}\.\d{1,4}) GB|, KV size: (?<both>\d{1,6}\.\d{1,4}) GB)?|Mamba Cache is allocated\. max_mamba_cache_size: (?<slots>\d{1,9})(?<states>(?:, \w{1,40} size: \d{1,6}\.\d{1,4} ?GB){1,6})|SWAKVPool mem usage: (?<window>\d{1,6}\.\d{1,4}) GB/g,
  read({ end, tokens, keys, values, both, slots, states, window }, emit) {
    if (end !== undefined) emit(free(end, 'SGLang: Memory pool end'));
    if (tokens !== undefined) emit(figureFinding('sglang.kv_cache_tokens', Number(tokens), 'tokens'));
    if (keys !== undefined) emit(budgetFinding('sglang.kv_cache', String(Number(keys) + Number(values))));
    if (both !== undefined) emit(budgetFinding('sglang.kv_cache', both));
    if (window !== undefined) emit(budgetFinding('sglang.swa_kv_cache', window));
    if (states !== undefined) {
      let sum = 0;
      for (const [, size = ''] of states.matchAll(/: (\d{1,6}\.\d{1,4})/g)) sum += Number(size);
      emit(budgetFinding('sglang.mamba_cache', String(sum)));
      emit(figureFinding('sglang.mamba_slots', Number(slots), 'count'));
    }
  },
};

export const SGLANG_PROFILING: LineFormat = {
  form: 'line',
  id: 'sglang.memory-profiling',
  title: 'How the size of the pools was found',
  producer: SGLANG_PRODUCER,
  versions: '0.5.10 and builds around it [mem]',
  source: 'python/sglang/srt/model_executor/model_runner_kv_cache_mixin.py',
  anchors: ['Memory profiling: available_gpu_memory='],
  fields: {
    available: 'GiB free after the weights',
    before: 'GiB free before the weights; no size of the device, whatever its name',
    share: 'mem_fraction_static',
    rest: 'GiB for the pools; negative where there is nothing left',
  },
  pattern:
    /Memory profiling: available_gpu_memory=(?<available>\d{1,6}\.\d{1,4}) GB, total_gpu_memory=(?<before>\d{1,6}\.\d{1,4}) GB, mem_fraction_static=(?<share>\d\.\d{1,6}), rest_memory=(?<rest>-?\d{1,6}\.\d{1,4}) GB/g,
  read({ available = '', before = '', share, rest = '' }, emit) {
    emit(free(available, 'SGLang: after loading weights'));
    emit(free(before, 'SGLang: before loading weights'));
    emit(figureFinding('sglang.mem_fraction_static', Number(share), null));
    emit(budgetFinding('sglang.pool_budget', rest));
  },
};

export const SGLANG_READY: LineFormat = {
  form: 'line',
  id: 'sglang.capacity',
  title: 'What the scheduler works with',
  producer: SGLANG_PRODUCER,
  versions: '0.2 and later; the memory since 0.4.7',
  source: 'python/sglang/srt/managers/scheduler.py, Scheduler.__init__',
  anchors: ['max_total_num_tokens='],
  fields: {
    tokens: 'tokens of the KV cache',
    rest: 'limits: `name=value, `; those of requests and of the context are kept',
    available: 'GiB free when the server is ready',
  },
  pattern:
    /\bmax_total_num_tokens=(?<tokens>\d{1,14})(?<rest>(?:, [a-z_]{4,40}=(?:-?\d{1,12}|None)(?![.\d])){0,8})(?:, available_gpu_mem=(?<available>\d{1,6}\.\d{1,4}) GB)?/g,
  read({ tokens, rest = '', available }, emit) {
    emit(figureFinding('sglang.kv_cache_tokens', Number(tokens), 'tokens'));
    for (const [, key = '', value] of rest.matchAll(
      /, (max_running_requests|context_len|chunked_prefill_size)=(-?\d{1,12})/g,
    ))
      emit(figureFinding(`sglang.${key}`, Number(value), 'count'));
    if (available !== undefined) emit(free(available, 'SGLang: ready'));
  },
};
