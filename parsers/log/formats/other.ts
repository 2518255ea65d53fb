/** Formats of what runs around Megatron: torch, DeepSpeed, Transformers, torchtitan, MLPerf, NCCL, the system. */
import type { LogFormat } from './contract.js';
import * as deepspeedEngine from './deepspeed/engine.js';
import * as deepspeedMemory from './deepspeed/memory.js';
import * as deepspeedVersions from './deepspeed/versions.js';
import * as zero from './deepspeed/zero.js';
import * as trainer from './huggingface/trainer.js';
import * as mllog from './mlperf/mllog.js';
import * as nccl from './nccl/communicators.js';
import * as devices from './system/devices.js';
import * as versions from './system/versions.js';
import { TORCH_GPU_PROCESSES } from './torch/gpu-processes.js';
import { TORCH_MEMORY_STATS } from './torch/memory-stats.js';
import { TORCH_MEMORY_SUMMARY } from './torch/memory-summary.js';
import * as titanLifecycle from './torchtitan/lifecycle.js';
import * as titanStep from './torchtitan/step.js';

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

  trainer.HF_TRAINER_LOGS,
  trainer.HF_TRAINER_BANNER,
  trainer.HF_TRAINER_PHASE,

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
  titanLifecycle.TORCHTITAN_PASS,

  mllog.MLPERF_MLLOG,
  mllog.MLPERF_SYSJSON,

  nccl.NCCL_VERSION,
  nccl.NCCL_DRIVER,
  nccl.NCCL_COMMUNICATOR,
  nccl.NCCL_INIT_TIME,
  nccl.NCCL_ALLOCATION,

  versions.TORCH_COLLECT_ENV,
  versions.PIP_PACKAGES,
  versions.PRINTED_VERSION,
  versions.NGC_BANNER,
  versions.NVCC_VERSION,
  versions.GIT_COMMIT,
  devices.GPU_LIST,
  devices.NVIDIA_SMI,
];
