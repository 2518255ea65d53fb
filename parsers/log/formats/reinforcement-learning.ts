/** Formats of reinforcement learning: its trainers, and the inference engines that share the devices with them. */
import type { LogFormat } from './contract.js';
import { MEMORY_SAVER_FAILURE } from './memory-saver/failure.js';
import { NEMO_RL_MEMORY } from './nemo-rl/memory.js';
import * as nemoStep from './nemo-rl/step.js';
import * as sglangBatches from './sglang/batches.js';
import * as sglangGraphs from './sglang/graphs.js';
import * as sglangLoad from './sglang/load.js';
import * as skyrl from './skyrl/memory.js';
import * as slimeMemory from './slime/memory.js';
import * as slimeStep from './slime/step.js';
import * as verlLifecycle from './verl/lifecycle.js';
import * as verlMemory from './verl/memory.js';
import { VERL_STEP } from './verl/step.js';
import * as vllmGraphs from './vllm/graphs.js';
import * as vllmCache from './vllm/kv-cache.js';
import * as vllmLoad from './vllm/load.js';
import * as vllmProfiling from './vllm/profiling.js';
import * as vllmSleep from './vllm/sleep.js';

export const REINFORCEMENT_LEARNING_FORMATS: readonly LogFormat[] = [
  verlMemory.VERL_MEMORY,
  verlMemory.VERL_CACHE_MEMORY,
  verlLifecycle.VERL_MODEL,
  VERL_STEP,

  slimeMemory.SLIME_MEMORY,
  slimeMemory.SLIME_PEAK,
  slimeStep.SLIME_STEP,
  slimeStep.SLIME_ROLLOUT,
  slimeStep.SLIME_TIMER,
  MEMORY_SAVER_FAILURE,

  skyrl.SKYRL_MEMORY,
  skyrl.SKYRL_TIMER,

  NEMO_RL_MEMORY,
  nemoStep.NEMO_RL_STEP,
  nemoStep.NEMO_RL_RESULTS,

  vllmLoad.VLLM_STARTING_TO_LOAD,
  vllmLoad.VLLM_WEIGHTS,
  vllmProfiling.VLLM_PROFILING_SENTENCE,
  vllmProfiling.VLLM_PROFILING_PAIRS,
  vllmProfiling.VLLM_PROFILING_RESULT,
  vllmProfiling.VLLM_FREE_MEMORY,
  vllmProfiling.VLLM_ACTUAL_USAGE,
  vllmCache.VLLM_AVAILABLE_CACHE,
  vllmCache.VLLM_CACHE_TOKENS,
  vllmCache.VLLM_CACHE_BLOCKS,
  vllmCache.VLLM_CACHE_USAGE,
  vllmGraphs.VLLM_GRAPH_CAPTURE,
  vllmGraphs.VLLM_GRAPH_ESTIMATE,
  vllmSleep.VLLM_SLEEP,
  vllmSleep.VLLM_WAKE_UP,
  vllmSleep.SLEEP_MODE,
  vllmSleep.COLOCATED,

  sglangLoad.SGLANG_WEIGHTS,
  sglangLoad.SGLANG_POOLS,
  sglangLoad.SGLANG_PROFILING,
  sglangLoad.SGLANG_READY,
  sglangGraphs.SGLANG_GRAPHS,
  sglangBatches.SGLANG_BATCH,
];
