/** Messages of one line or few, by what prints them. See message-neighbours.ts. */
import type { Cause, IncidentKind } from '../../src/model/vocabulary.js';
import { type Choices, counted, GIB, grouped, inUnit, type Message, MIB, type Printed } from './neighbour-messages.js';

const asked =
  (print: (bytes: number) => Printed) =>
  (size: number): Message['bytes'] => ({ requested: print(size) });

/** Of one text: what raises it, its kind, and what it states. */
interface Text {
  readonly name: string;
  readonly kinds: readonly IncidentKind[];
  readonly line: (choices: Choices, size: number, device: number) => string;
  readonly bytes?: (size: number) => Message['bytes'];
  readonly device?: boolean;
  readonly classes?: readonly string[];
  readonly causes?: readonly Cause[];
  readonly isLine?: boolean;
}

const texts = (list: readonly Text[]): ((choices: Choices) => Message)[] =>
  list.map(
    ({ name, kinds, line, bytes, device = false, classes = ['RuntimeError'], causes = [], isLine = false }) =>
      (choices) => {
        const size =
          choices.pick([512, 2432, 6_291_456, 268_435_456, 4_831_838_208, 17_179_869_184, 123_456_789_012]) +
          8 * choices.integer(0, 999);
        const place = choices.integer(0, 7);
        return {
          name,
          kinds,
          classes: isLine ? [''] : classes,
          causes,
          isLine,
          lines: line(choices, size, place).split('\n'),
          bytes: bytes?.(size) ?? {},
          device: device ? place : null,
        };
      },
  );

/** What CUDA's launch-blocking advice is, by version. */
const ADVICE: readonly string[] = [
  '',
  '\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.',
  '\nCUDA kernel errors might be asynchronously reported at some other API call,so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.',
  "\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
];
const ncclError = (choices: Choices, status: string, symbol: string): string =>
  choices.pick([
    `NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:${choices.integer(600, 2900)}, ${status}, NCCL version 2.${choices.integer(14, 27)}.${choices.integer(1, 8)}\n${symbol}`,
    `NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:${choices.integer(30, 120)}, ${status} (run with NCCL_DEBUG=INFO for details), NCCL version 2.${choices.integer(20, 27)}.${choices.integer(1, 8)}\n${symbol}`,
  ]);
const CALL_FAILED = 'ncclUnhandledCudaError: Call to CUDA function failed.';
const DIST = ['torch.distributed.DistBackendError', 'RuntimeError'];

const hex = (choices: Choices): string => choices.integer(100_000, 999_999).toString(16);

export const messagesOfLibraries = texts([
  {
    name: 'CUDA error',
    kinds: ['cuda_oom_driver'],
    line: (c) => `CUDA error: out of memory${c.pick(ADVICE)}`,
    classes: ['RuntimeError', 'torch.AcceleratorError', 'torch.cuda.CudaError'],
  },
  { name: 'CUDA driver error', kinds: ['cuda_oom_driver'], line: () => 'CUDA driver error: out of memory' },
  {
    name: 'HIP error',
    kinds: ['hip_oom'],
    line: (c) =>
      `HIP error: out of memory${c.pick(ADVICE).replaceAll('CUDA', 'HIP').replace('cudaErrorMemoryAllocation', 'hipErrorOutOfMemory')}`,
  },
  {
    name: 'cuda runtime error',
    kinds: ['cuda_oom_driver'],
    line: () => 'cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58',
  },
  {
    name: 'numba',
    kinds: ['cuda_oom_driver'],
    line: (c) =>
      `[2] Call to ${c.pick(['cuMemAlloc', 'cuMemAllocManaged', 'cuDevicePrimaryCtxRetain'])} results in CUDA_ERROR_OUT_OF_MEMORY`,
    classes: ['numba.cuda.cudadrv.driver.CudaAPIError'],
  },
  {
    name: 'CuPy runtime',
    kinds: ['cuda_oom_driver'],
    line: () => 'cudaErrorMemoryAllocation: out of memory',
    classes: ['cupy_backends.cuda.api.runtime.CUDARuntimeError', 'cupy.cuda.runtime.CUDARuntimeError'],
  },
  {
    name: 'CuPy pool',
    kinds: ['cuda_oom_driver'],
    line: (_, size) =>
      `Out of memory allocating ${grouped(size).text} bytes (allocated so far: ${grouped(3 * size).text} bytes).`,
    bytes: (size) => ({ requested: grouped(size), allocated: grouped(3 * size) }),
    classes: ['cupy.cuda.memory.OutOfMemoryError'],
  },
  {
    name: 'PyCUDA',
    kinds: ['cuda_oom_driver'],
    line: (c) => `${c.pick(['cuMemAlloc', 'cuCtxCreate'])} failed: out of memory`,
    classes: ['pycuda._driver.MemoryError'],
  },
  {
    name: 'ggml',
    kinds: ['cuda_oom_driver'],
    line: (_, size, device) =>
      `ggml_backend_cuda_buffer_type_alloc_buffer: allocating ${inUnit(size, MIB, 'MiB', 2).text} on device ${device}: cudaMalloc failed: out of memory`,
    bytes: (size) => ({ requested: inUnit(size, MIB, 'MiB', 2) }),
    device: true,
    isLine: true,
  },
  {
    name: 'stream executor',
    kinds: ['cuda_oom_driver'],
    line: (c, size) =>
      `2026-03-01 10:11:12.123456: ${c.pick(['E', 'W', 'I'])} external/xla/xla/stream_executor/cuda/cuda_driver.cc:${c.integer(600, 1200)}] failed to allocate ${inUnit(size, GIB, 'GiB', 2, '').text} (${size} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory`,
    bytes: asked(counted),
    isLine: true,
  },
  {
    name: 'pinned of stream executor',
    kinds: ['cuda_oom_driver', 'host_oom'],
    line: (c, size) =>
      `2026-03-01 10:11:12.123456: E tensorflow/stream_executor/cuda/cuda_driver.cc:${c.integer(600, 1200)}] failed to alloc ${size} bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory`,
    bytes: asked(counted),
    isLine: true,
  },
  {
    name: 'ONNX Runtime',
    kinds: ['cuda_oom_driver'],
    line: (_, _s, device) =>
      `CUDA failure 2: out of memory ; GPU=${device} ; hostname=node17 ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_allocator.cc ; line=47 ; expr=cudaMalloc((void**)&p, size);`,
    classes: ['onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException'],
  },
  { name: 'CTranslate2', kinds: ['cuda_oom_driver'], line: () => 'CUDA failed with error out of memory' },
  {
    name: 'NVSHMEM',
    kinds: ['cuda_oom_driver'],
    line: (c) => `/nvshmem/src/host/mem/mem_heap.cpp:${c.integer(900, 1600)}: non-zero status: 2 cuMemCreate failed`,
    isLine: true,
  },
  { name: 'Triton driver', kinds: ['cuda_oom_driver'], line: () => 'Triton Error [CUDA]: out of memory' },
  {
    name: 'Triton on chip',
    kinds: ['shared_mem_not_oom'],
    line: (c) =>
      `out of resource: shared memory, Required: ${c.integer(101_377, 262_144)}, Hardware limit: ${c.pick([101_376, 166_912, 232_448])}. Reducing block sizes or \`num_stages\` may help.`,
    classes: ['triton.runtime.errors.OutOfResources'],
    causes: ['not_oom'],
  },
  {
    name: 'nvmlAssert',
    kinds: ['nvml_assert_in_oom_path'],
    line: (c) =>
      `NVML_SUCCESS == ${c.pick(['r', 'DriverAPI::get()->nvmlInit_v2_()', 'DriverAPI::get()->nvmlDeviceGetHandleByPciBusId_v2_( pci_id, &nvml_device)'])} INTERNAL ASSERT FAILED at "${c.pick(['../', '/pytorch/', '/opt/conda/conda-bld/pytorch_1695392020201/work/'])}c10/cuda/CUDACachingAllocator.cpp":${c.integer(800, 1200)}, please report a bug to PyTorch.`,
  },
  {
    name: 'cuBLAS',
    kinds: ['cublas'],
    line: (c) =>
      `CUDA error: CUBLAS_STATUS_${c.pick(['ALLOC_FAILED', 'NOT_INITIALIZED'])} when calling \`${c.pick(['cublasCreate(handle)', 'cublasLtCreate(&ltHandle)', 'cublasSgemm( handle, opa, opb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc)'])}\``,
  },
  {
    name: 'cuBLAS of its own',
    kinds: ['cublas_not_oom'],
    line: (c) =>
      `CUDA error: CUBLAS_STATUS_${c.pick(['INVALID_VALUE', 'NOT_SUPPORTED'])} when calling \`cublasGemmEx( handle, opa, opb, m, n, k, &falpha, a, CUDA_R_16BF, lda)\``,
    causes: ['not_oom'],
  },
  {
    name: 'cuBLAS unnamed',
    kinds: ['cublas_not_oom'],
    line: (c) =>
      `CUDA error: CUBLAS_STATUS_${c.pick(['INTERNAL_ERROR', 'EXECUTION_FAILED'])} when calling \`cublasGemmEx( handle, opa, opb, m, n, k, &falpha, a, CUDA_R_16BF, lda)\``,
  },
  {
    name: 'hipBLAS',
    kinds: ['cublas'],
    line: () => 'CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling `hipblasCreate(handle)`',
  },
  {
    name: 'cuFFT and others',
    kinds: ['cublas'],
    line: (c) =>
      c.pick([
        'cuFFT error: CUFFT_ALLOC_FAILED',
        'cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`',
        'CUDA error: CUSPARSE_STATUS_ALLOC_FAILED when calling `cusparseCreate(handle)`',
      ]),
  },
  {
    name: 'cuDNN',
    kinds: ['cudnn'],
    line: (c) =>
      c.pick([
        'cuDNN error: CUDNN_STATUS_ALLOC_FAILED',
        'cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED',
      ]),
  },
  {
    name: 'cuDNN unnamed',
    kinds: ['cudnn_unknown'],
    line: (c) =>
      c.pick([
        'cuDNN error: CUDNN_STATUS_INTERNAL_ERROR',
        'cuDNN error: CUDNN_STATUS_NOT_INITIALIZED',
        'cuDNN error: CUDNN_STATUS_EXECUTION_FAILED',
        'Unable to find a valid cuDNN algorithm to run convolution',
        'cuDNN Error: No valid engine configs',
        'GET was unable to find an engine to execute this computation',
        'cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a non-contiguous input.',
      ]),
  },
  {
    name: 'NCCL warning',
    kinds: ['nccl_oom'],
    line: (c, _s, device) =>
      `node17:812:${c.integer(813, 4000)} [${device}] ${c.pick(['include/alloc.h:102', 'include/alloc.h:320 (ncclCuMemAlloc)', 'enqueue.cc:1085', '[2026-03-01 10:11:12] /dvs/src/include/alloc.h:228'])} NCCL WARN Cuda failure ${c.pick(["'out of memory'", "2 'out of memory'"])}`,
    device: true,
    isLine: true,
  },
  {
    name: 'NCCL calloc',
    kinds: ['nccl_oom'],
    line: (c, size) =>
      `${ncclError(c, 'unhandled cuda error', CALL_FAILED)}\nLast error:\nFailed to CUDA ${c.pick(['calloc', 'calloc async', 'malloc', 'malloc async'])} ${size} bytes`,
    bytes: asked(counted),
    classes: DIST,
  },
  {
    name: 'NCCL last error',
    kinds: ['nccl_oom'],
    line: (c) =>
      `${ncclError(c, 'unhandled cuda error', CALL_FAILED)}\nLast error:\nCuda failure ${c.pick(["'out of memory'", "2 'out of memory'"])}`,
    classes: DIST,
  },
  {
    name: 'NCCL other failure',
    kinds: ['nccl_not_oom'],
    line: (c) =>
      `${ncclError(c, 'unhandled cuda error', CALL_FAILED)}\nLast error:\nCuda failure ${c.pick(["1 'invalid argument'", "'invalid device ordinal'", "217 'peer access is not supported between these two devices'"])}`,
    classes: DIST,
    causes: ['not_oom'],
  },
  {
    name: 'NCCL unknown failure',
    kinds: ['nccl_not_oom', 'nccl_unknown'],
    line: (c) =>
      `${ncclError(c, 'unhandled cuda error', CALL_FAILED)}\nLast error:\nCuda failure ${c.pick(["999 'unknown error'", "'unknown error'", "719 'unspecified launch failure'"])}`,
    classes: DIST,
  },
  {
    name: 'NCCL unnamed',
    kinds: ['nccl_unknown'],
    line: (c) =>
      c.pick([
        ncclError(c, 'unhandled cuda error', CALL_FAILED),
        `NCCL ${c.pick(['Error 1', 'error'])}: unhandled cuda error (run with NCCL_DEBUG=INFO for details)`,
        ncclError(
          c,
          'unhandled system error',
          'ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.',
        ),
        ncclError(c, 'internal error', 'ncclInternalError: Internal check failed.'),
      ]),
    classes: DIST,
  },
  {
    name: 'locked memory',
    kinds: ['nccl_unknown', 'other'],
    line: (c, _s, device) =>
      `node17:812:${c.integer(813, 4000)} [${device}] ${c.pick(['transport/net_ib.cc:600', 'misc/ibvwrap.cc:262'])} NCCL WARN Call to ${c.pick(['ibv_reg_mr', 'ibv_create_qp', 'ibv_reg_mr_iova2'])} failed with error Cannot allocate memory`,
    device: true,
    isLine: true,
  },
  {
    name: 'device assert',
    kinds: ['not_oom'],
    line: (c) => `CUDA error: device-side assert triggered${c.pick(ADVICE.slice(0, 3))}`,
    causes: ['not_oom'],
  },
  {
    name: 'illegal access',
    kinds: ['illegal_access_not_oom'],
    line: (c) => `CUDA error: an illegal memory access was encountered${c.pick(ADVICE.slice(0, 3))}`,
    causes: ['not_oom'],
    classes: ['RuntimeError', 'torch.AcceleratorError'],
  },
  {
    name: 'CUDA unnamed',
    kinds: ['other'],
    line: (c) =>
      `CUDA error: ${c.pick(['unknown error', 'unspecified launch failure', 'initialization error'])}${c.pick(ADVICE.slice(0, 3))}`,
  },
  {
    name: 'XLA',
    kinds: ['jax_oom'],
    line: (c, size) =>
      c.pick([
        `RESOURCE_EXHAUSTED: Out of memory while trying to allocate ${size} bytes.`,
        `Resource exhausted: Out of memory while trying to allocate ${size} bytes.`,
        `RESOURCE_EXHAUSTED: Out of memory allocating ${size} bytes.`,
      ]),
    bytes: asked(counted),
    classes: ['jaxlib.xla_extension.XlaRuntimeError', 'XlaRuntimeError', 'jax.errors.JaxRuntimeError', 'RuntimeError'],
  },
  {
    name: 'XLA sized',
    kinds: ['jax_oom'],
    line: (_, size) =>
      `RESOURCE_EXHAUSTED: Out of memory while trying to allocate ${inUnit(size, MIB, 'MiB', 2, '').text}.`,
    bytes: (size) => ({ requested: inUnit(size, MIB, 'MiB', 2) }),
    classes: ['jaxlib.xla_extension.XlaRuntimeError'],
  },
  {
    name: 'XLA program',
    kinds: ['jax_oom'],
    line: (c) =>
      `RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used ${c.integer(17, 90)}.12G of 15.48G hbm. Exceeded hbm capacity by ${c.integer(2, 70)}.64G.`,
    classes: ['jaxlib.xla_extension.XlaRuntimeError'],
    causes: ['capacity'],
  },
  {
    name: 'BFC',
    kinds: ['tf_oom', 'jax_oom'],
    line: (_, size, device) =>
      `2026-03-01 10:11:12.123456: W tensorflow/core/common_runtime/bfc_allocator.cc:479] Allocator (GPU_${device}_bfc) ran out of memory trying to allocate ${inUnit(size, MIB, 'MiB', 2, '').text} (rounded to ${size})requested by op while/body/MatMul`,
    bytes: (size) => ({ requested: inUnit(size, MIB, 'MiB', 2) }),
    isLine: true,
  },
  {
    name: 'TensorFlow',
    kinds: ['tf_oom'],
    line: (_, size, device) =>
      `OOM when allocating tensor with shape[${(size % 61) + 1},${(size % 509) + 1},1024] and type float on /job:localhost/replica:0/task:0/device:GPU:${device} by allocator GPU_${device}_bfc`,
    bytes: (size) => ({ requested: counted(((size % 61) + 1) * ((size % 509) + 1) * 1024 * 4) }),
    device: true,
    classes: ['tensorflow.python.framework.errors_impl.ResourceExhaustedError', 'ResourceExhaustedError'],
  },
  {
    name: 'SYCL',
    kinds: ['xpu_oom'],
    line: (c) =>
      `Native API failed. Native API returns: ${c.pick(['-5 (PI_ERROR_OUT_OF_RESOURCES) -5 (PI_ERROR_OUT_OF_RESOURCES)', '39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)', '40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)'])}`,
  },
  {
    name: 'vLLM cache',
    kinds: ['kv_cache_budget'],
    line: (c) =>
      c.pick([
        'No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.',
        "The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (63712). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
      ]),
    classes: ['ValueError'],
    causes: ['capacity'],
  },
]);

export const messagesOfHosts = texts([
  {
    name: 'CPU allocator',
    kinds: ['host_oom'],
    line: (c, size) =>
      c.pick([
        `[enforce fail at alloc_cpu.cpp:${c.integer(60, 120)}] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate ${size} bytes. Error code 12 (Cannot allocate memory)`,
        `[enforce fail at alloc_cpu.cpp:${c.integer(60, 120)}] . DefaultCPUAllocator: not enough memory: you tried to allocate ${size} bytes.`,
        `[enforce fail at C:\\cb\\pytorch_1000000000000\\work\\c10\\core\\impl\\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate ${size} bytes.`,
      ]),
    bytes: asked(counted),
    causes: ['host_oom'],
  },
  {
    name: 'NumPy',
    kinds: ['host_oom'],
    line: (c, size) =>
      `Unable to allocate ${inUnit(size, MIB, 'MiB', 1).text} for an array with shape (${c.integer(2, 9)}, ${c.integer(100, 9999)}) and data type float64`,
    bytes: (size) => ({ requested: inUnit(size, MIB, 'MiB', 1) }),
    classes: [
      'numpy.core._exceptions._ArrayMemoryError',
      'numpy.core._exceptions.MemoryError',
      'numpy._core._exceptions._ArrayMemoryError',
    ],
    causes: ['host_oom'],
  },
  {
    name: 'errno',
    kinds: ['host_oom'],
    line: () => '[Errno 12] Cannot allocate memory',
    classes: ['OSError', 'BlockingIOError'],
    causes: ['host_oom'],
  },
  {
    name: 'bad_alloc',
    kinds: ['host_oom'],
    line: () => "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
    isLine: true,
    causes: ['host_oom'],
  },
  {
    name: 'Arrow',
    kinds: ['host_oom'],
    line: (c, size) => `${c.pick(['malloc', 'realloc'])} of size ${size} failed`,
    bytes: asked(counted),
    classes: ['pyarrow.lib.ArrowMemoryError'],
    causes: ['host_oom'],
  },
  {
    name: 'kernel',
    kinds: ['host_oom'],
    line: (c, size) =>
      c.pick([
        `[${c.integer(1000, 99_999)}.123456] Out of memory: Killed process ${c.integer(100, 99_999)} (python3) total-vm:${size}kB, anon-rss:${size}kB, file-rss:0kB, shmem-rss:12kB, UID:1000 pgtables:1234kB oom_score_adj:0`,
        `Mar  1 10:11:12 node17 kernel: Memory cgroup out of memory: Killed process ${c.integer(100, 99_999)} (pt_main_thread) total-vm:${size}kB, anon-rss:${size}kB, file-rss:0kB, shmem-rss:12kB, UID:0 pgtables:12kB oom_score_adj:-997`,
        `[${c.integer(1000, 99_999)}.123456] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=${hex(c)},mems_allowed=0-1,oom_memcg=/slurm/uid_1,task_memcg=/slurm/uid_1/job_2,task=python,pid=${c.integer(100, 99_999)},uid=1000`,
        `[${c.integer(1000, 99_999)}.123456] python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0`,
      ]),
    isLine: true,
    causes: ['host_oom'],
  },
  {
    name: 'Slurm',
    kinds: ['host_oom'],
    line: (c) =>
      c.pick([
        `slurmstepd: error: Detected ${c.integer(1, 4)} oom-kill event(s) in StepId=${c.integer(100, 99_999)}.${c.pick(['0', 'batch'])}. Some of your processes may have been killed by the cgroup out-of-memory handler.`,
        `slurmstepd: error: Detected ${c.integer(1, 4)} oom_kill events in StepId=${c.integer(100, 99_999)}.batch. Some of the step tasks have been OOM Killed.`,
        `slurmstepd: error: Detected ${c.integer(1, 4)} oom-kill event(s) in step ${c.integer(100, 99_999)}.batch cgroup.`,
        `srun: error: node17: task ${c.integer(0, 7)}: Out Of Memory`,
        `slurmstepd: error: Job ${c.integer(100, 9999)} exceeded memory limit (67108864 > 65536000), being killed`,
      ]),
    isLine: true,
    causes: ['host_oom'],
  },
  {
    name: 'Kubernetes',
    kinds: ['host_oom'],
    line: (c) =>
      c.pick([
        '    State:          Terminated\n      Reason:       OOMKilled\n      Exit Code:    137',
        'trainer-worker-0   0/1     OOMKilled   0          12m',
        'Status: Failed  Reason: Evicted  Message: The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi.',
        'Warning  SystemOOM  kubelet  System OOM encountered, victim process: python3, pid: 4711',
      ]),
    isLine: true,
    causes: ['host_oom'],
  },
  {
    name: 'Ray',
    kinds: ['host_oom'],
    line: (c) =>
      `${c.pick(['Task was', '1 worker(s) were'])} killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.5, ID: ${hex(c)}) where the task (task ID: ${hex(c)}, name=load, pid=606, memory used=3.33GB) was running was 51.33GB / 54.00GB (0.950537), which exceeds the memory usage threshold of 0.95.`,
    classes: ['ray.exceptions.OutOfMemoryError'],
    causes: ['host_oom'],
  },
  {
    name: 'other killers',
    kinds: ['host_oom'],
    line: (c) =>
      c.pick([
        '=>> PBS: job killed: mem 67112960kb exceeded limit 67108864kb',
        'TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.',
        'earlyoom[712]: sending SIGTERM to process 4711 uid 1000 "python3": badness 901, VmRSS 61234 MiB',
        'systemd-oomd[612]: Killed /user.slice/user-1000.slice/session-4.scope due to memory pressure for /user.slice being 71.20% > 50.00% for > 20s with reclaim activity',
      ]),
    isLine: true,
    causes: ['host_oom'],
  },
  {
    name: 'shared memory',
    kinds: ['shm_oom'],
    line: (c) =>
      c.pick([
        `DataLoader worker (pid ${c.integer(100, 9999)}) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.`,
        `DataLoader worker (pid(s) ${c.integer(100, 9999)}) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.`,
        `unable to write to file </torch_${c.integer(100, 9999)}_${c.integer(1, 999)}_0>: No space left on device (28)`,
        `unable to open shared memory object </torch_${c.integer(100, 9999)}_12> in read-write mode: No space left on device (28)`,
      ]),
    causes: ['host_oom'],
  },
  {
    name: 'bus error of a worker',
    kinds: ['shm_oom'],
    line: () =>
      'ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).',
    isLine: true,
    causes: ['host_oom'],
  },
  {
    name: 'NCCL shared memory',
    kinds: ['shm_oom'],
    line: (c, size, device) =>
      `node17:812:1999 [${device}] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-${hex(c)} to ${size} bytes, error: No space left on device (28)`,
    device: true,
    isLine: true,
    causes: ['host_oom'],
  },
  {
    name: 'worker killed',
    kinds: ['host_oom'],
    line: (c) => `DataLoader worker (pid ${c.integer(100, 9999)}) is killed by signal: Killed. `,
  },
  {
    name: 'worker lost',
    kinds: ['dataloader_worker_killed'],
    line: (c) =>
      c.pick([
        `DataLoader worker (pid(s) ${c.integer(100, 9999)}) exited unexpectedly`,
        `DataLoader worker (pid(s) ${c.integer(100, 9999)}, ${c.integer(100, 9999)}) exited unexpectedly`,
        `DataLoader worker (pid ${c.integer(100, 9999)}) exited unexpectedly with exit code 1. Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better error trace.`,
        `DataLoader worker (pid ${c.integer(100, 9999)}) is killed by signal: ${c.pick(['Aborted', 'Segmentation fault', 'Terminated'])}. `,
      ]),
  },
  {
    name: 'killed',
    kinds: ['killed'],
    line: (c) =>
      c.pick([
        'Killed',
        `./run.sh: line ${c.integer(2, 99)}: ${c.integer(100, 9999)} Killed                  python train.py`,
        `srun: error: node17: task ${c.integer(0, 7)}: Killed`,
        `E0301 10:11:12.000000 139 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: -9) local_rank: 0 (pid: ${c.integer(100, 9999)}) of binary: /usr/bin/python3`,
        `${c.pick(['exit code', 'exit status', 'exited with code', 'exitcode:', 'Exit Code:   ', 'return code ='])} ${c.pick(['-9', '137'])}`,
        `worker-${c.integer(0, 7)} exited with ${c.pick(['code', 'status', 'a non-zero exit code', 'non-zero status'])} 137${c.pick(['', '.'])}`,
        `${c.pick(['Process', 'process 3', 'command', 'worker'])} ${c.pick(['terminated', 'killed', 'exited'])} ${c.pick(['by', 'with', 'on'])} ${c.pick(['signal 9', 'signal SIGKILL', 'SIGKILL'])}`,
        `make: *** [${c.pick(['train', 'Makefile:12: train'])}] ${c.pick(['Killed', 'Error 137'])}`,
        `prterun noticed that process rank ${c.integer(0, 7)} with PID ${c.integer(100, 9999)} on node node17 exited on signal 9 (Killed).`,
      ]),
    isLine: true,
  },
  {
    name: 'crash',
    kinds: ['other'],
    line: (c) =>
      c.pick([
        'Segmentation fault (core dumped)',
        'Aborted (core dumped)',
        `./run.sh: line ${c.integer(2, 99)}: ${c.integer(100, 9999)} Aborted                 (core dumped) python train.py`,
        'Fatal Python error: Aborted',
        `srun: error: node17: task ${c.integer(0, 7)}: Aborted (core dumped)`,
        'Fatal Python error: Segmentation fault',
      ]),
    isLine: true,
  },
  {
    name: 'exit',
    kinds: ['other'],
    line: (c) =>
      c.pick([
        `srun: error: node17: task ${c.integer(0, 7)}: Exited with exit code ${c.integer(1, 2)}`,
        `E0301 10:11:12.000000 139 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: ${c.pick([1, -6, -11])}) local_rank: 0 (pid: ${c.integer(100, 9999)}) of binary: /usr/bin/python3`,
      ]),
    isLine: true,
  },
  {
    name: 'watchdog',
    kinds: ['timeout'],
    line: (c) =>
      `[rank${c.integer(0, 7)}]:[E301 10:11:12.000000000 ProcessGroupNCCL.cpp:${c.integer(500, 700)}] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=${c.integer(2, 9999)}, OpType=${c.pick(['ALLREDUCE', '_ALLGATHER_BASE'])}, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for ${c.integer(600_000, 600_999)} milliseconds before timing out.`,
    isLine: true,
  },
  {
    name: 'disk',
    kinds: ['other'],
    line: (c) =>
      c.pick([
        '[Errno 28] No space left on device',
        "[Errno 28] No space left on device: '/checkpoints/step_100/rank_0.pt'",
      ]),
    classes: ['OSError'],
    causes: ['not_oom'],
  },
  {
    name: 'named exception',
    kinds: ['other'],
    line: (c) =>
      c.pick([
        'mat1 and mat2 shapes cannot be multiplied (8x512 and 256x1024)',
        'expected scalar type BFloat16 but found Float',
        'The size of tensor a (128) must match the size of tensor b (64) at non-singleton dimension 1',
      ]),
    classes: ['RuntimeError', 'ValueError'],
    causes: ['not_oom'],
  },
]);
