/**
 * Every format of this version. `src/knowledge/log-formats/*.yaml` lists them in order, with their facts. The code of
 * those whose rows need it (state over lines, blocks, tables) is imported here.
 */
import { EXCEPTION_LINE } from '../failures/printed-exception.js';
import { TORCHRUN_FOOTER } from '../failures/torchrun-footer.js';
import { BRIDGE_MEMORY_LINES } from './bridge/memory.js';
import type { FormatCode, LogFormat } from './contract.js';
import { dataFormats } from './data-format.js';
import { DEEPSPEED_FLOPS_PROFILE } from './deepspeed/flops-profiler.js';
import { LIGHTNING_PROGRESS_BAR } from './lightning/progress-bar.js';
import { ITERATION_LINES } from './megatron/iteration.js';
import { MEMORY_LINES } from './megatron/memory.js';
import { OFFLOAD_FORMATS } from './megatron/offload.js';
import { PARAMETER_LINES } from './megatron/parameters.js';
import { TIMER_FORMATS } from './megatron/timers.js';
import * as mllog from './mlperf/mllog.js';
import { NEMO_ITERATION_LINES } from './nemo/iteration.js';
import { deepspeedConfig } from './settings/deepspeed-config.js';
import { megatronArguments } from './settings/megatron-arguments.js';
import { configObject, modelConfig } from './settings/python-objects.js';
import * as shell from './settings/shell-lines.js';
import * as yaml from './settings/yaml-blocks.js';
import { PRINTED_RATES } from './small/printed-rates.js';
import { TORCHTITAN_CONFIGURATION, TORCHTITAN_MESH } from './torchtitan/configuration.js';
import { VERL_STEP } from './verl/step.js';

const CODE: readonly FormatCode[] = [
  ...[ITERATION_LINES, MEMORY_LINES, BRIDGE_MEMORY_LINES, PARAMETER_LINES].flat(),
  ...[OFFLOAD_FORMATS, NEMO_ITERATION_LINES, TIMER_FORMATS].flat(),
  ...[DEEPSPEED_FLOPS_PROFILE, TORCHTITAN_MESH],
  ...[TORCHTITAN_CONFIGURATION, LIGHTNING_PROGRESS_BAR],
  ...[...Object.values(mllog)],
  ...[PRINTED_RATES, VERL_STEP],
  ...[megatronArguments, ...Object.values(yaml), deepspeedConfig, configObject, modelConfig],
  ...[...Object.values(shell), EXCEPTION_LINE, TORCHRUN_FOOTER],
];
const of = (name: string): readonly LogFormat[] => dataFormats(name, CODE);

/** Megatron-LM, Megatron-DeepSpeed, Megatron Bridge and NeMo, except configuration and failures. */
export const MEGATRON_FAMILY = of('megatron');
/** Configuration and environment as logs print them. */
export const SETTINGS_FORMATS = of('settings');
/** What runs around Megatron: torch, the other trainers, MLPerf, NCCL, the system. */
export const OTHER_FORMATS = ['torch', 'deepspeed', 'huggingface', 'torchtitan', 'trainers', 'system'].flatMap(of);
/** Trainers of reinforcement learning, and the inference engines that share the devices with them. */
export const REINFORCEMENT_LEARNING_FORMATS = ['reinforcement-learning', 'engines'].flatMap(of);
/** Failures that are known by their words: everything that is not memory (`src/knowledge/oom-messages.yaml`). */
export const FAILURE_FORMATS = of('failures');

export const LOG_FORMATS: readonly LogFormat[] = [
  // The settings of a line that starts a launch are of that launch.
  ...of('launches'),
  ...MEGATRON_FAMILY,
  ...SETTINGS_FORMATS,
  ...OTHER_FORMATS,
  ...REINFORCEMENT_LEARNING_FORMATS,
  ...FAILURE_FORMATS,
];
