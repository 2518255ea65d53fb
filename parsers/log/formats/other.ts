/** Formats of what runs around Megatron: torch, the other trainers, MLPerf, NCCL, the system. */

import { ACCELERATE_ENVIRONMENT } from './accelerate/environment.js';
import { ACCELERATE_TRACEMALLOC } from './accelerate/tracemalloc.js';
import { COLOSSALAI_MEMORY } from './colossalai/memory.js';
import { COMPOSER_CONSOLE } from './composer/console.js';
import type { LogFormat } from './contract.js';
import { DEEPSPEED_ACTIVATION_CHECKPOINTING } from './deepspeed/activation-checkpointing.js';
import { DEEPSPEED_CHAT } from './deepspeed/chat.js';
import * as deepspeedEngine from './deepspeed/engine.js';
import * as deepspeedEstimates from './deepspeed/estimates.js';
import { DEEPSPEED_FLOPS_PROFILE } from './deepspeed/flops-profiler.js';
import { DEEPSPEED_DATA_START } from './deepspeed/megatron-fork.js';
import * as deepspeedMemory from './deepspeed/memory.js';
import { DEEPSPEED_OPTIMIZER } from './deepspeed/optimizer.js';
import * as deepspeedVersions from './deepspeed/versions.js';
import * as zero from './deepspeed/zero.js';
import { LMOD_UNKNOWN } from './environment/modules.js';
import * as fairseq from './fairseq/progress.js';
import * as fsdp from './fsdp/memory-trace.js';
import * as trainer from './huggingface/trainer.js';
import { LIGHTNING_PROGRESS_BAR } from './lightning/progress-bar.js';
import { LIGHTNING_SCHEDULER } from './lightning/scheduler.js';
import * as mllog from './mlperf/mllog.js';
import * as nanotron from './nanotron/step.js';
import * as nccl from './nccl/communicators.js';
import { OLMO_STEP } from './olmo/console.js';
import * as progress from './progress/tqdm.js';
import { PRINTED_RATES } from './small/printed-rates.js';
import * as steps from './small/steps.js';
import * as devices from './system/devices.js';
import * as versions from './system/versions.js';
import { WORLD_SIZE } from './system/world-size.js';
import { TORCH_GPU_PROCESSES } from './torch/gpu-processes.js';
import { TORCH_MEMORY_STATS } from './torch/memory-stats.js';
import { TORCH_MEMORY_SUMMARY } from './torch/memory-summary.js';
import { TORCHTITAN_CHECKPOINT } from './torchtitan/checkpoint.js';
import { TORCHTITAN_CONFIGURATION, TORCHTITAN_MESH } from './torchtitan/configuration.js';
import * as titanLifecycle from './torchtitan/lifecycle.js';
import * as titanStep from './torchtitan/step.js';
import * as torchtune from './torchtune/metrics.js';

export const OTHER_FORMATS: readonly LogFormat[] = [
  TORCH_MEMORY_SUMMARY,
  TORCH_MEMORY_STATS,
  TORCH_GPU_PROCESSES,

  deepspeedMemory.DEEPSPEED_MEMORY_USAGE,
  deepspeedMemory.DEEPSPEED_DEVICE_MEMORY,
  deepspeedMemory.DEEPSPEED_HOST_MEMORY,
  deepspeedMemory.DEEPSPEED_TIMER_MEMORY,
  deepspeedMemory.DEEPSPEED_THROUGHPUT,
  deepspeedEngine.DEEPSPEED_PIPELINE_PARAMETERS,
  deepspeedEngine.DEEPSPEED_TIMERS,
  deepspeedEngine.DEEPSPEED_OVERFLOW,
  deepspeedEngine.DEEPSPEED_STEP,
  deepspeedEngine.DEEPSPEED_PIPELINE_STEP,
  deepspeedEngine.DEEPSPEED_GRID,
  deepspeedEngine.DEEPSPEED_LAUNCHER,
  deepspeedVersions.DEEPSPEED_ENV_REPORT,
  deepspeedVersions.DEEPSPEED_INFO,
  zero.DEEPSPEED_CACHE_FLUSHES,
  zero.DEEPSPEED_ZERO,
  DEEPSPEED_ACTIVATION_CHECKPOINTING,
  DEEPSPEED_OPTIMIZER,
  DEEPSPEED_CHAT,
  deepspeedEstimates.DEEPSPEED_ESTIMATE,
  deepspeedEstimates.DEEPSPEED_AUTOTUNING,
  DEEPSPEED_FLOPS_PROFILE,
  DEEPSPEED_DATA_START,

  trainer.HF_TRAINER_LOGS,
  trainer.HF_TRAINER_BANNER,
  trainer.HF_TRAINER_PHASE,
  trainer.HF_METRICS,
  ACCELERATE_TRACEMALLOC,
  ACCELERATE_ENVIRONMENT,
  progress.DIFFUSERS_STEPS,

  titanStep.TORCHTITAN_STEP,
  titanStep.TORCHTITAN_VALIDATION,
  titanLifecycle.TORCHTITAN_DEVICE,
  titanLifecycle.TORCHTITAN_MODEL_MEMORY,
  titanLifecycle.TORCHTITAN_RETRIES,
  titanLifecycle.TORCHTITAN_MODEL,
  titanLifecycle.TORCHTITAN_PEAK_FLOPS,
  titanLifecycle.TORCHTITAN_TRAINER,
  titanLifecycle.TORCHTITAN_GC,
  titanLifecycle.TORCHTITAN_TRAINING,
  TORCHTITAN_CHECKPOINT,
  TORCHTITAN_MESH,
  TORCHTITAN_CONFIGURATION,
  titanLifecycle.TORCHTITAN_TIMEOUT,
  titanLifecycle.TORCHTITAN_PASS,

  nanotron.NANOTRON_ITERATION,
  nanotron.NANOTRON_MEMORY,
  nanotron.NANOTRON_PARAMETERS,
  torchtune.TORCHTUNE_STEP,
  torchtune.TORCHTUNE_MODEL_MEMORY,
  torchtune.TORCHTUNE_BAR,
  torchtune.TORCHTUNE_CHECKPOINT,
  fsdp.FSDP_MEMORY_TRACE,
  fsdp.FSDP_MEMORY_MAXIMIZER,
  fsdp.FSDP_STEP,
  LIGHTNING_PROGRESS_BAR,
  LIGHTNING_SCHEDULER,
  COMPOSER_CONSOLE,
  OLMO_STEP,
  steps.MAXTEXT_STEP,
  steps.NANOGPT_STEP,
  steps.LITGPT_STEP,
  fairseq.FAIRSEQ_SIMPLE,
  fairseq.FAIRSEQ_JSON,
  COLOSSALAI_MEMORY,
  progress.TQDM_BAR,
  progress.EVALUATION_BAR,

  mllog.MLPERF_MLLOG,
  mllog.MLPERF_SYSJSON,

  nccl.NCCL_VERSION,
  nccl.NCCL_DRIVER,
  nccl.NCCL_COMMUNICATOR,
  nccl.NCCL_INIT_TIME,
  nccl.NCCL_ALLOCATION,

  versions.TORCH_COLLECT_ENV,
  versions.PIP_PACKAGES,
  versions.MEGATRON_VERSIONS,
  versions.PRINTED_VERSION,
  versions.NGC_BANNER,
  versions.OPTIMIZER_FALLBACK,
  versions.NVCC_VERSION,
  versions.GIT_COMMIT,
  LMOD_UNKNOWN,
  devices.GPU_LIST,
  devices.NVIDIA_SMI,
  WORLD_SIZE,

  PRINTED_RATES,
];
