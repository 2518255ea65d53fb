/** Sleep mode: the engine gives its memory to the trainer and takes it back. */
import { configFinding } from '../../../../src/knowledge/config-keys.js';
import type { LineFormat } from '../contract.js';
import { GIB, memoryFigure } from '../units.js';
import { budgetFinding } from './budget-finding.js';
import { VLLM_PRODUCER } from './load.js';

export const VLLM_SLEEP: LineFormat = {
  form: 'line',
  id: 'vllm.sleep',
  title: 'Sleep mode freed memory',
  producer: VLLM_PRODUCER,
  versions: '0.7 and later',
  source: 'vllm/worker/worker.py and vllm/v1/worker/gpu_worker.py, Worker.sleep',
  anchors: ['Sleep mode freed '],
  fields: {
    freed: 'GiB: free after less free before, cudaMemGetInfo',
    used: 'GiB of the device still in use, by whomever: the trainer on the same device counts',
  },
  pattern:
    /Sleep mode freed (?<freed>-?\d{1,6}\.\d{1,4}) GiB memory,\s{1,40}(?<used>\d{1,6}\.\d{1,4}) GiB memory is still in use/g,
  read({ freed = '', used = '' }, emit) {
    emit(configFinding('enable_sleep_mode', 'True', 'log banner'));
    emit(budgetFinding('vllm.sleep_freed', freed));
    emit(memoryFigure('device_used', used, 'GiB', GIB, { moment: 'after vLLM sleep' }));
  },
};

export const VLLM_WAKE_UP: LineFormat = {
  form: 'line',
  id: 'vllm.wake-up',
  title: 'The engine falls asleep or wakes up',
  producer: VLLM_PRODUCER,
  versions: '0.7 and later; tags since 0.8.3',
  source: 'vllm/executor/executor_base.py and vllm/v1/executor/abstract.py, sleep and wake_up',
  anchors: [' seconds to fall asleep', ' seconds to wake up'],
  fields: {
    seconds: 'seconds',
    asleep: 'it fell asleep',
    awake: 'it woke up',
    tags: 'what woke: weights, kv_cache',
  },
  pattern:
    /It took (?<seconds>\d{1,7}(?:\.\d{1,9})?) seconds to (?:(?<asleep>fall asleep)|(?<awake>wake up)(?: tags (?<tags>[[{(][\w', ]{0,80}[\]})]|None))?)/g,
  read({ seconds, asleep, tags }, emit) {
    const words = tags === undefined ? {} : { text: tags };
    emit({
      row: 'value',
      name: asleep === undefined ? 'vllm.wake_up_time' : 'vllm.sleep_time',
      value: Number(seconds),
      unit: 's',
      ...words,
    });
  },
};

/**
 * What only processes with a sleep mode print: its setting, or the code of its memory pool; and the trainer of slime,
 * which runs on torch_memory_saver where it shares GPUs with the engine.
 */
export const SLEEP_MODE: LineFormat = {
  form: 'line',
  id: 'engine.sleep-mode',
  title: 'Sleep mode is in use',
  producer: 'vLLM, SGLang, slime, verl, Megatron-LM',
  versions: 'vLLM 0.7 and later; torch_memory_saver 0.0.1 and later',
  source:
    'vllm/device_allocator/cumem.py and csrc/cumem_allocator.cpp; torch_memory_saver; sglang ServerArgs; slime/ray/actor_group.py RayTrainGroup._allocate_gpus_for_actor',
  anchors: [
    'device_allocator/cumem.py',
    'cumem_allocator.cpp',
    'torch_memory_saver/',
    '[torch_memory_saver.cpp]',
    'torch_memory_saver_hook_mode',
    'slime/backends/megatron_utils/',
    'MegatronTrainRayActor',
    'enable_sleep_mode',
    'enable_memory_saver',
  ],
  fields: { place: 'code of its memory pool', key: 'the setting in printed arguments' },
  pattern:
    /(?<place>device_allocator\/cumem\.py|cumem_allocator\.cpp|torch_memory_saver\/[\w/]{1,60}\.py|\[torch_memory_saver\.cpp\]|torch_memory_saver_hook_mode|slime\/backends\/megatron_utils\/|\bMegatronTrainRayActor\b)|(?<key>enable_sleep_mode|enable_memory_saver)['"]?(?:=|: )True\b/g,
  read({ key = 'enable_sleep_mode' }, emit) {
    emit(configFinding(key, 'True', 'log banner'));
  },
};

/** Settings that place engine and trainer on the same devices, wherever they are printed. */
export const COLOCATED: LineFormat = {
  form: 'line',
  id: 'engine.colocated',
  title: 'Engine and trainer share the devices',
  producer: 'SkyRL, OpenRLHF, slime, NeMo RL, TRL',
  versions: '2024 and later',
  source:
    'SkyRL trainer.placement.colocate_all; OpenRLHF --colocate_all_models; slime --colocate; NeMo RL colocated.enabled; TRL vllm_mode; ids of SkyRL’s tests',
  anchors: ['colocate'],
  fields: { key: 'the setting, which is on', flag: 'the same as a flag', test: 'parameters of a test' },
  pattern:
    /\b(?<key>colocate_(?:all|all_models|actor_ref)|colocated\.enabled|vllm_mode)['"]?(?:=|: ?| )['"]?(?:True|true|1|colocate)\b|(?<=\s)--(?<flag>colocate(?:_all_models|_actor_ref)?)(?=\s|$)(?! (?:False|false|0)\b)|(?<test>\[colocate_\w{1,80}\])/g,
  read({ key, flag }, emit) {
    emit(configFinding(key ?? flag ?? 'colocated_engine', key === 'vllm_mode' ? 'colocate' : 'True', 'log banner'));
  },
};
