/** Which environment variables are kept: those that bear on memory, performance or the identity of a run. Everything else is dropped unread. */

/** Whole names and prefixes; a prefix ends in `*`. */
export const KEPT_ENV: readonly string[] = [
  'PYTORCH_CUDA_ALLOC_CONF',
  'PYTORCH_ALLOC_CONF',
  'PYTORCH_HIP_ALLOC_CONF',
  'PYTORCH_NO_CUDA_MEMORY_CACHING',
  'CUDA_DEVICE_MAX_CONNECTIONS',
  'CUDA_VISIBLE_DEVICES',
  'CUDA_LAUNCH_BLOCKING',
  'CUDA_MODULE_LOADING',
  'CUDA_MPS_*',
  'CUBLAS_WORKSPACE_CONFIG',
  'CUBLASLT_WORKSPACE_SIZE',
  'CUDNN_*',
  'NCCL_*',
  'TORCH_NCCL_*',
  'TORCHELASTIC_*',
  'TORCH_CUDNN_*',
  'TORCHINDUCTOR_*',
  'TORCH_DISTRIBUTED_DEBUG',
  'TORCH_SHOW_CPP_STACKTRACES',
  'NVTE_*',
  'NVSHMEM_*',
  'UB_*',
  'HYBRID_EP_*',
  'DEEPEP_*',
  'MEGATRON_*',
  'MCORE_*',
  'NEMO_*',
  'DS_*',
  'OMP_NUM_THREADS',
  'MALLOC_*',
  'RANK',
  'LOCAL_RANK',
  'WORLD_SIZE',
  'LOCAL_WORLD_SIZE',
  'GROUP_RANK',
  'NODE_RANK',
  'SLURM_JOB_ID',
  'SLURM_JOBID',
  'SLURM_PROCID',
  'SLURM_LOCALID',
  'SLURM_NODEID',
  'SLURM_NTASKS',
  'SLURM_NNODES',
  'SLURM_JOB_NUM_NODES',
  'SLURM_NTASKS_PER_NODE',
  'SLURM_RESTART_COUNT',
  'SLURMD_NODENAME',
  'OMPI_COMM_WORLD_RANK',
  'OMPI_COMM_WORLD_SIZE',
  'OMPI_COMM_WORLD_LOCAL_RANK',
  'PMI_RANK',
  'TORCH_VERSION',
  'PYTORCH_VERSION',
  'PYTORCH_BUILD_VERSION',
  'NVIDIA_PYTORCH_VERSION',
  'CUDA_VERSION',
  'TRANSFORMER_ENGINE_VERSION',
  'PYTORCH_BUILD_*',
];

/** Never kept, whatever the list says: values that open doors. */
const SECRET = /TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE|COOKIE|AUTH/i;

const WHOLE = new Set(KEPT_ENV.filter((name) => !name.endsWith('*')));
const PREFIXES = KEPT_ENV.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));

export function keepsEnv(key: string): boolean {
  return !SECRET.test(key) && (WHOLE.has(key) || PREFIXES.some((prefix) => key.startsWith(prefix)));
}
