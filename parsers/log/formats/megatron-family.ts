/** Formats of Megatron-LM, Megatron-DeepSpeed, Megatron Bridge and NeMo, except configuration and failures. */
import { BRIDGE_EVALUATION_LINES } from './bridge/evaluation.js';
import { BRIDGE_MEMORY_LINES } from './bridge/memory.js';
import { PEFT_BLOCKS } from './bridge/peft.js';
import { STEP_TIME_LINES } from './bridge/step-time.js';
import { BRIDGE_THEORY_LINES } from './bridge/theory.js';
import type { LogFormat } from './contract.js';
import { CHECKPOINT_LINES } from './megatron/checkpoint.js';
import { CUDA_GRAPH_LINES } from './megatron/cuda-graphs.js';
import { EVALUATION_LINES } from './megatron/evaluation.js';
import { FSDP_LINES } from './megatron/fsdp.js';
import { ITERATION_LINES } from './megatron/iteration.js';
import { LAYOUT_LINES } from './megatron/layout.js';
import { LIFECYCLE_LINES } from './megatron/lifecycle.js';
import { MEMORY_LINES } from './megatron/memory.js';
import { OFFLOAD_FORMATS } from './megatron/offload.js';
import { BUCKET_LINES, PARAMETER_LINES } from './megatron/parameters.js';
import { PROGRESS_LINES } from './megatron/progress.js';
import { SNAPSHOT_LINES } from './megatron/snapshot.js';
import { STRAGGLER_FORMATS } from './megatron/straggler.js';
import { THEORY_LINES } from './megatron/theory.js';
import { TIMER_FORMATS } from './megatron/timers.js';
import { AUTOMODEL_LINES } from './nemo/automodel.js';
import { NEMO_ITERATION_LINES } from './nemo/iteration.js';
import { NEMO_LIFECYCLE_LINES } from './nemo/lifecycle.js';
import { NEMO_MEMORY_LINES } from './nemo/memory.js';
import { MODEL_SUMMARY_LINES } from './nemo/model-summary.js';

export const MEGATRON_FAMILY: readonly LogFormat[] = [
  ...ITERATION_LINES,
  ...MEMORY_LINES,
  ...BRIDGE_MEMORY_LINES,
  ...STEP_TIME_LINES,
  ...TIMER_FORMATS,
  ...THEORY_LINES,
  ...BRIDGE_THEORY_LINES,
  ...PARAMETER_LINES,
  ...BUCKET_LINES,
  ...PEFT_BLOCKS,
  ...BRIDGE_EVALUATION_LINES,
  ...LAYOUT_LINES,
  ...LIFECYCLE_LINES,
  ...CHECKPOINT_LINES,
  ...EVALUATION_LINES,
  ...CUDA_GRAPH_LINES,
  ...OFFLOAD_FORMATS,
  ...SNAPSHOT_LINES,
  ...FSDP_LINES,
  ...STRAGGLER_FORMATS,
  ...PROGRESS_LINES,
  ...NEMO_ITERATION_LINES,
  ...AUTOMODEL_LINES,
  ...NEMO_MEMORY_LINES,
  ...NEMO_LIFECYCLE_LINES,
  ...MODEL_SUMMARY_LINES,
];
