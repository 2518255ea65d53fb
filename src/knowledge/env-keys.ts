/** Which environment variables are kept: those that bear on memory, performance or the identity of a run. Everything else is dropped unread. */
import type { EnvFinding, EnvOrigin } from '../model/log-rows.js';

/**
 * Variables that carry the allocator's settings, in the order torch looks them up; the first that is set wins. Upstream: torch
 * `c10/core/AllocatorConfig.cpp`. The last one exists since 2.9 (and 2.9.1 ignores `expandable_segments` in it for CUDA).
 */
export const ALLOCATOR_VARIABLES: readonly string[] = [
  'PYTORCH_CUDA_ALLOC_CONF',
  'PYTORCH_HIP_ALLOC_CONF',
  'PYTORCH_ALLOC_CONF',
];

/** Whole names and prefixes; a prefix ends in `*`. */
export const KEPT_ENV: readonly string[] = [
  // The allocators of torch, JAX and TensorFlow
  'PYTORCH_CUDA_ALLOC_CONF',
  'PYTORCH_ALLOC_CONF',
  'PYTORCH_HIP_ALLOC_CONF',
  'PYTORCH_NPU_ALLOC_CONF',
  'PYTORCH_NO_CUDA_MEMORY_CACHING',
  'PYTORCH_NO_HIP_MEMORY_CACHING',
  'PYTORCH_NVML_BASED_CUDA_CHECK',
  'XLA_FLAGS',
  'XLA_PYTHON_CLIENT_*',
  'TF_GPU_ALLOCATOR',
  'TF_FORCE_GPU_ALLOW_GROWTH',
  // The device and its libraries
  'CUDA_DEVICE_MAX_CONNECTIONS',
  'CUDA_DEVICE_ORDER',
  'CUDA_VISIBLE_DEVICES',
  'CUDA_LAUNCH_BLOCKING',
  'CUDA_MODULE_LOADING',
  'CUDA_SCALE_LAUNCH_QUEUES',
  'CUDA_MPS_*',
  'CUBLAS_WORKSPACE_CONFIG',
  'CUBLASLT_WORKSPACE_SIZE',
  'CUDNN_*',
  'NVIDIA_VISIBLE_DEVICES',
  'NVIDIA_TF32_OVERRIDE',
  'HIP_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  'HSA_*',
  'GPU_MAX_HW_QUEUES',
  'ZE_AFFINITY_MASK',
  'ASCEND_RT_VISIBLE_DEVICES',
  // Communication
  'NCCL_*',
  'RCCL_*',
  'TORCH_NCCL_*',
  'GLOO_*',
  'UCX_*',
  'FI_*',
  'SHARP_*',
  'NVSHMEM_*',
  'UB_*',
  'HYBRID_EP_*',
  'DEEPEP_*',
  'NVLINK_DOMAIN_SIZE',
  'USE_MNNVL',
  // Torch and the trainers
  'TORCHELASTIC_*',
  'TORCH_CUDNN_*',
  'TORCHINDUCTOR_*',
  'TORCH_DISTRIBUTED_DEBUG',
  'TORCH_DIST_INIT_BARRIER',
  'TORCH_FR_*',
  'TORCH_LOGS',
  'TORCH_SHOW_CPP_STACKTRACES',
  'TORCH_COMPILE_DISABLE',
  'TORCHDYNAMO_DISABLE',
  'NVTE_*',
  'NVTX_*',
  'FLASH_ATTENTION_*',
  'MEGATRON_*',
  'MCORE_*',
  'NEMO_*',
  'DS_*',
  'ACCELERATE_*',
  'FSDP_*',
  // The host
  'OMP_NUM_THREADS',
  'MKL_NUM_THREADS',
  'OPENBLAS_NUM_THREADS',
  'NUMEXPR_MAX_THREADS',
  'KMP_AFFINITY',
  'MALLOC_*',
  'LD_PRELOAD',
  'TOKENIZERS_PARALLELISM',
  // Who and where
  'RANK',
  'LOCAL_RANK',
  'WORLD_SIZE',
  'LOCAL_WORLD_SIZE',
  'GROUP_RANK',
  'ROLE_RANK',
  'NODE_RANK',
  'NNODES',
  'NPROC_PER_NODE',
  'GPUS_PER_NODE',
  'DGXNNODES',
  'DGXNGPU',
  'DGXSYSTEM',
  'PET_NNODES',
  'PET_NPROC_PER_NODE',
  'PET_NODE_RANK',
  'SLURM_JOB_ID',
  'SLURM_JOBID',
  'SLURM_PROCID',
  'SLURM_LOCALID',
  'SLURM_NODEID',
  'SLURM_NTASKS',
  'SLURM_NPROCS',
  'SLURM_NNODES',
  'SLURM_JOB_NUM_NODES',
  'SLURM_NTASKS_PER_NODE',
  'SLURM_GPUS_PER_NODE',
  'SLURM_GPUS_ON_NODE',
  'SLURM_CPUS_PER_TASK',
  'SLURM_MEM_PER_NODE',
  'SLURM_RESTART_COUNT',
  'SLURMD_NODENAME',
  'HOSTNAME',
  'OMPI_COMM_WORLD_RANK',
  'OMPI_COMM_WORLD_SIZE',
  'OMPI_COMM_WORLD_LOCAL_RANK',
  'PMI_RANK',
  'PMI_SIZE',
  'PMIX_RANK',
  'PALS_RANKID',
  // Versions
  'TORCH_VERSION',
  'PYTORCH_VERSION',
  'PYTORCH_BUILD_*',
  'NVIDIA_PYTORCH_VERSION',
  'NVIDIA_BUILD_ID',
  'CUDA_VERSION',
  'CUDA_DRIVER_VERSION',
  'CUBLAS_VERSION',
  'ROCM_VERSION',
  'TRANSFORMER_ENGINE_VERSION',
  'GIT_COMMIT',
  'GIT_SHA',
  'CI_COMMIT_SHA',
];

/** Never kept, whatever the list says: values that open doors. */
const SECRET = /TOKEN(?!IZERS)|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|(?:^|_)KEY(?:_|$)|PRIVATE|COOKIE|AUTH/i;

const WHOLE = new Set(KEPT_ENV.filter((name) => !name.endsWith('*')));
const PREFIXES = KEPT_ENV.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));

export function keepsEnv(key: string): boolean {
  return !SECRET.test(key) && (WHOLE.has(key) || PREFIXES.some((prefix) => key.startsWith(prefix)));
}

/** Longer values are cut: none that matters is longer. */
export const MOST_ENV_CHARS = 1024;

/** A row for a variable, or null if it is not kept. `value` null: unset. */
export function envFinding(key: string, value: string | null, origin: EnvOrigin): EnvFinding | null {
  if (!keepsEnv(key)) return null;
  const kept = value !== null && value.length > MOST_ENV_CHARS ? `${value.slice(0, MOST_ENV_CHARS)}…` : value;
  return { row: 'env', key, value: kept, origin };
}

/**
 * The global rank a process's own environment tells. Launchers write it in this order of trust; Slurm's task number is a rank only
 * where tasks are not nodes, since under torchrun one task starts all ranks of its node.
 */
export function rankOfEnvironment(
  variables: ReadonlyMap<string, string>,
): { readonly rank: number; readonly origin: string } | null {
  for (const name of ['RANK', 'OMPI_COMM_WORLD_RANK', 'PMIX_RANK', 'PMI_RANK', 'PALS_RANKID', 'SLURM_PROCID']) {
    const text = variables.get(name);
    if (text === undefined || !/^\d{1,6}$/.test(text)) continue;
    if (name === 'SLURM_PROCID') {
      const tasks = variables.get('SLURM_NTASKS') ?? variables.get('SLURM_NPROCS');
      const nodes = variables.get('SLURM_NNODES') ?? variables.get('SLURM_JOB_NUM_NODES');
      if (tasks === undefined || tasks === nodes) continue;
    }
    return { rank: Number(text), origin: `environment:${name}` };
  }
  return null;
}
