/**
 * The grammar of failure messages, as data: what PyTorch, CUDA's libraries, the kernel and other frameworks print when
 * memory (or something that looks like it) runs out. `parsers/log` matches it; nothing here reads a file. Failures that are no
 * matter of memory, and whose words never wrap, are line formats (`parsers/log/formats/failures.ts`).
 *
 * Messages reach a log wrapped, quoted, prefixed, glued and cut, so an entry is not one pattern but a head, loose pieces
 * in any order, and marks that tell versions apart. Patterns are written as the message prints them; they are compared
 * with all white space and quotes removed, which is what makes `213.69 \n MiB free` and `Includ\ning` readable.
 *
 * Placeholders: `{field}` of {@link INCIDENT_BYTE_FIELDS} is a number with a unit of the family's system, `{field#}` a bare
 * count of bytes, `{field,#}` one with commas between the thousands, `{field@GiB}` a number whose unit stands elsewhere; `{device}`, `{pid}` and `{count}` are integers; `{processBytes}` belongs to the `{pid}` beside it;
 * `{shape}` and `{dtype}` give a tensor's size; `{~}` skips up to twelve characters that are no digits; `{^}` stands first
 * where the text must begin a line.
 *
 * Upstream of most wordings: pytorch `c10/cuda/CUDACachingAllocator.cpp` (`DeviceCachingAllocator::malloc`, `format_size`).
 */
import type { IncidentRow } from '../model/tables.js';
import type { IncidentKind } from '../model/vocabulary.js';

/** Bytes per printed unit. Every system is 1024-based, also where it prints `MB`. */
export const UNIT_SYSTEMS = {
  /** torch's `format_size`: `bytes`, KiB, MiB, GiB. Larger units were seen in the wild (a cuDNN workspace of 16 EiB). */
  iec: { bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, PiB: 1024 ** 5, EiB: 1024 ** 6 },
  /** torch's MPS allocator printed KB/MB/GB first and KiB/MiB/GiB later; both divide by 1024. */
  mps: {
    bytes: 1,
    KB: 1024,
    MB: 1024 ** 2,
    GB: 1024 ** 3,
    KiB: 1024,
    MiB: 1024 ** 2,
    GiB: 1024 ** 3,
    TiB: 1024 ** 4,
  },
  /** XLA's `HumanReadableNumBytes` (`12.00GiB`, older `12.00G`) and its plain `<n> bytes`. */
  xla: {
    bytes: 1,
    KiB: 1024,
    MiB: 1024 ** 2,
    GiB: 1024 ** 3,
    TiB: 1024 ** 4,
    K: 1024,
    M: 1024 ** 2,
    G: 1024 ** 3,
    T: 1024 ** 4,
  },
  /** Paddle's `HumanReadableSize`: six decimals, divided by 1024. */
  paddle: { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 },
} as const satisfies Record<string, Readonly<Record<string, number>>>;
export type UnitSystem = keyof typeof UNIT_SYSTEMS;

/** Bytes per element of the tensor types TensorFlow names. */
export const TENSOR_TYPE_BYTES: Readonly<Record<string, number>> = {
  float: 4,
  double: 8,
  half: 2,
  bfloat16: 2,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  bool: 1,
  complex64: 8,
  complex128: 16,
};

/** Something to find in a message. All patterns of one name mean the same. */
export interface MessagePiece {
  readonly name: string;
  readonly patterns: readonly string[];
  /**
   * `head`: begins a message. `opens`: belongs to a message, or begins one whose head was cut off or never printed.
   * `follows` (the default): counts only after a head, within the family's gap.
   */
  readonly role?: 'head' | 'opens' | 'follows';
  /** May occur several times in one message (`Process N has …`). */
  readonly repeats?: boolean;
}

/** Words near a message that change what it means. */
export interface MessageContext {
  readonly name: string;
  readonly patterns: readonly string[];
}

/** Wordings that share their pieces: one message text of one producer over all its versions. */
export interface MessageFamily {
  readonly name: string;
  /** Literals of at least eight characters, one of which occurs in every message; all a fast scan looks for. */
  readonly anchors: readonly string[];
  readonly units: UnitSystem;
  readonly pieces: readonly MessagePiece[];
  readonly contexts?: readonly MessageContext[];
  /** The most characters (white space not counted) between two parts of one message. */
  readonly gap: number;
  /** A second head within the gap continues the message instead of beginning another. */
  readonly headsMerge?: boolean;
  /** A bare head without any piece is only believed where an error is being stated; else it is prose. */
  readonly headNeedsStatement?: boolean;
}

/** One wording. Entries are tried in order within their family; the first whose names all occur wins. */
export interface OomGrammarEntry {
  readonly id: string;
  readonly family: MessageFamily;
  /** What prints it, and since when. `[inf]` marks ranges inferred from messages seen, not read in source. */
  readonly versions: string;
  readonly source: string;
  /** `note`: worth counting, but no failure. */
  readonly kind: IncidentKind | 'note';
  readonly when?: readonly string[];
}

const CACHING_ALLOCATOR = 'pytorch c10/cuda/CUDACachingAllocator.cpp';
const MEMORY = 'wording known from logs; upstream source not read';

/** What is printed around an allocation while a CUDA graph is captured. */
const GRAPH_CAPTURE: MessageContext = {
  name: 'graph_capture',
  patterns: [
    'VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS',
    'stream is capturing',
    'cudaErrorStreamCapture',
    'Capture CUDA graph',
    'Capture cuda graph',
    'Capturing CUDA graph',
    'CUDA graph capture',
    'cuda graph capture',
    'cudagraph capture',
    'graph capturing',
    'capture_begin',
    'capture_end',
    'capture_model',
    'capturing CUDA graph',
    'capturing cuda graph',
    'during graph capture',
    'graph_capture(',
    'with torch.cuda.graph(',
  ],
};

const TORCH: MessageFamily = {
  name: 'torch',
  anchors: [
    'out of memory',
    'Tried to allocate',
    'OutOfMemoryError',
    'total capac',
    'already allocated',
    'memory in use',
    'by PyTorch',
    'is reserved by',
    'but unallocated',
  ],
  units: 'iec',
  gap: 260,
  headNeedsStatement: true,
  pieces: [
    { name: 'head_cuda', patterns: ['CUDA out of memory'], role: 'head' },
    { name: 'head_hip', patterns: ['HIP out of memory'], role: 'head' },
    { name: 'head_xpu', patterns: ['XPU out of memory'], role: 'head' },
    { name: 'head_npu', patterns: ['NPU out of memory'], role: 'head' },
    { name: 'exceeds_1eb', patterns: ['Tried to allocate more than 1EB memory'], role: 'opens' },
    { name: 'requested', patterns: ['Tried to allocate {requested}'], role: 'opens' },
    { name: 'device', patterns: ['GPU {device}', 'NPU {device}', 'XPU {device}', 'on device {device}'] },
    { name: 'capacty', patterns: ['total capacty of {total}'], role: 'opens' },
    { name: 'total', patterns: ['total capacity of {total}'], role: 'opens' },
    { name: 'total_1', patterns: ['{total} total capacity'], role: 'opens' },
    { name: 'total_short', patterns: ['({total} total;'] },
    { name: 'free', patterns: ['of which {free}', '{free} is free', '{free}{~}free'] },
    { name: 'process', patterns: ['this process has {process}'] },
    { name: 'other_process', patterns: ['Process {pid} has {processBytes} memory in use'], repeats: true },
    { name: 'allowed', patterns: ['{allowed} allowed'] },
    { name: 'allocated_1', patterns: ['{allocated} already allocated'], role: 'opens' },
    { name: 'allocated', patterns: ['{allocated} is allocated by PyTorch'], role: 'opens' },
    { name: 'allocated_cut', patterns: ['{allocated} is allocated by', 'Of the allocated memory {allocated}'] },
    { name: 'private_pool', patterns: ['{privatePool} allocated in private pools'] },
    { name: 'unallocated', patterns: ['{reservedUnallocated} is reserved by PyTorch but unallocated'], role: 'opens' },
    {
      name: 'unallocated_cut',
      patterns: ['by PyTorch, and {reservedUnallocated}', 'Graphs), and {reservedUnallocated}'],
    },
    { name: 'reserved', patterns: ['{reserved} reserved in total by PyTorch'], role: 'opens' },
    { name: 'reserved_cut', patterns: ['{reserved} reserved in total'] },
    // 1.0–1.3 printed what is cached and free: reserved − allocated, today's "reserved but unallocated".
    { name: 'cached', patterns: ['{reservedUnallocated} cached'] },
    // vLLM's own words around torch's.
    { name: 'warming_up', patterns: ['occurred when warming up'] },
    { name: 'hint_split', patterns: ['try setting max_split_size_mb'] },
    { name: 'hint_expandable', patterns: ['try setting PYTORCH_CUDA_ALLOC_CONF'] },
    { name: 'hint_alloc_conf', patterns: ['try setting PYTORCH_ALLOC_CONF'] },
    { name: 'hint_hip', patterns: ['PYTORCH_HIP_ALLOC_CONF'] },
    { name: 'hint_docs', patterns: ['See documentation for Memory Management', 'to avoid fragmentation'] },
    { name: 'hint_environment_link', patterns: ['notes/cuda.html#environment-variables)'] },
    { name: 'hint_optimizing_link', patterns: ['notes/cuda.html#optimizing-memory-usage'] },
  ],
  contexts: [GRAPH_CAPTURE],
};

const TORCH_ASYNC: MessageFamily = {
  name: 'torch_async',
  anchors: ['Allocation on device', 'exceed allowed memory', 'Currently allocated', 'Device limit'],
  units: 'iec',
  gap: 120,
  pieces: [
    { name: 'head', patterns: ['Allocation on device {device}', 'Allocation on device'], role: 'head' },
    { name: 'exceeds', patterns: ['would exceed allowed memory'] },
    { name: 'allocated', patterns: ['Currently allocated: {allocated}'] },
    { name: 'requested', patterns: ['Requested: {requested}'] },
    { name: 'total', patterns: ['Device limit: {total}'] },
    { name: 'free', patterns: ['Free (according to CUDA): {free}'] },
    { name: 'allowed', patterns: ['PyTorch limit (set by user-supplied memory fraction): {allowed}'] },
  ],
  headNeedsStatement: true,
};

const TORCH_PREEMPT: MessageFamily = {
  name: 'torch_preempt',
  anchors: ['Preemptively rejecting'],
  units: 'iec',
  gap: 80,
  pieces: [
    { name: 'head', patterns: ['Preemptively rejecting allocation'], role: 'head' },
    { name: 'requested', patterns: ['requested {requested} but'] },
    { name: 'allocated', patterns: ['total_allocated_memory ({allocated})'] },
    { name: 'allowed', patterns: ['exceed memory limit ({allowed}'] },
    { name: 'total', patterns: ['% of {total})'] },
  ],
};

const TORCH_RETRY: MessageFamily = {
  name: 'torch_retry',
  anchors: ['memory allocation failed with OOM'],
  units: 'iec',
  gap: 80,
  pieces: [
    { name: 'head', patterns: ['memory allocation failed with OOM on device {device}'], role: 'head' },
    { name: 'requested', patterns: ['while trying to allocate {requested#} bytes'] },
    { name: 'free', patterns: ['(free: {free#}'] },
    { name: 'total', patterns: ['total: {total#})'] },
  ],
};

const MPS: MessageFamily = {
  name: 'mps',
  anchors: ['MPS backend out of memory', 'Invalid buffer size'],
  units: 'mps',
  gap: 160,
  pieces: [
    // The second: one buffer larger than Metal gives at all.
    { name: 'head', patterns: ['MPS backend out of memory', 'Invalid buffer size: {requested}'], role: 'head' },
    { name: 'allocated', patterns: ['MPS allocated: {allocated}'] },
    { name: 'allowed', patterns: ['max allowed: {allowed}'] },
    { name: 'requested', patterns: ['Tried to allocate {requested}'] },
    { name: 'hint', patterns: ['PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0'] },
  ],
};

const CUDA_DRIVER: MessageFamily = {
  name: 'cuda_driver',
  anchors: [
    'error: out of memory',
    'Error: out of memory',
    'CUDA_ERROR_OUT_OF_MEMORY',
    'error (2)',
    'error=2 :',
    'cudaErrorMemoryAllocation',
    'CUDA error 2',
    'cudaMalloc failed',
    'cudaMalloc(): out',
    'CUDA failure 2',
    'Triton Error [CUDA]',
    'Error code: out of memory',
    'Error out of memory at line',
    'hipErrorOutOfMemory',
    'out_of_memory: ',
    'with error out of memory',
    'with error 2 out of memory',
    'get()): out of memory',
    'std::bad_alloc: ',
    'Cuda Error in allocate: 2',
    'Cuda Runtime (out of memory)',
    'HSA_STATUS_ERROR_OUT_OF_RESOURCES: ',
  ],
  units: 'iec',
  gap: 500,
  pieces: [
    {
      name: 'head',
      patterns: [
        'CUDA error: out of memory',
        'CUDA driver error: out of memory',
        'CUDA Error: out of memory',
        'CUDA runtime error: out of memory',
        'CUDA error 2: out of memory',
        // ggml says how much and where before CUDA's words.
        'allocating {requested} on device {device}: cudaMalloc failed: out of memory',
        'cudaMalloc failed: out of memory',
        '({requested#} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory',
        '({requested#} bytes) from device: CUDA_ERROR_OUT_OF_MEMORY',
        'CUDA failed with error out of memory',
        'cuda failed with error 2 out of memory',
        'CUDA runtime error in error: out of memory',
        // TensorRT-LLM: `CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): out of memory`.
        'mCudaStream->get()): out of memory',
        'Cuda Error in allocate: 2 (out of memory)',
        'Cuda Runtime (out of memory)',
        'CUDA_ERROR_OUT_OF_MEMORY: out of memory',
        'CUDA_ERROR_OUT_OF_MEMORY',
        'cudaErrorMemoryAllocation: out of memory',
        'CUDA failure 2: out of memory',
        'Triton Error [CUDA]: out of memory',
        'cudaMalloc(): out of memory',
        'cudaMalloc failed, out of memory',
        'CUDA exception! Error code: out of memory',
        'Error out of memory at line',
        // RMM's exception is a C++ bad_alloc, and cuDF's a Python MemoryError; what ran out is the device.
        'MemoryError: std::bad_alloc: out_of_memory:',
        'std::bad_alloc: out_of_memory:',
        'MemoryError: std::bad_alloc: CUDA error',
        'std::bad_alloc: CUDA error',
        'std::bad_alloc: cudaErrorMemoryAllocation: out of memory',
      ],
      role: 'head',
    },
    { name: 'head_thc', patterns: ['cuda runtime error (2) : out of memory', 'error=2 : out of memory'], role: 'head' },
    {
      name: 'head_hip',
      patterns: [
        'HIP error: out of memory',
        'ROCm error: out of memory',
        'hipErrorOutOfMemory: out of memory',
        'hipErrorOutOfMemory',
        'HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources',
      ],
      role: 'head',
    },
    { name: 'device', patterns: ['current device: {device}, in function'] },
    { name: 'requested', patterns: ['(failed to allocate {requested#} bytes)', 'Requested memory: {requested#}'] },
    { name: 'free', patterns: ['Free memory: {free#}'] },
    { name: 'asynchronous', patterns: ['kernel errors might be asynchronously reported'] },
    { name: 'symbol', patterns: ['Search for cudaErrorMemoryAllocation'] },
  ],
  contexts: [GRAPH_CAPTURE],
};

const CUDA_ERROR: MessageFamily = {
  name: 'cuda_error',
  anchors: [
    'error: device-side assert',
    'error: unspecified launch',
    'error: unknown error',
    'error: misaligned address',
    'error: invalid ',
    'error: no kernel image',
    'error: initialization error',
    'error: operation not permitted',
    'error: device not ready',
    'device(s) is/are busy',
    'devices are busy or unavailable',
    'error: the launch timed out',
    'uncorrectable ECC',
    'fallen off the bus',
    'handles_.at(i) INTERNAL ASSERT',
    'previous error during capture',
    'illegal instruction was',
    'depend on a capturing blocking stream',
  ],
  units: 'iec',
  gap: 0,
  pieces: [
    {
      name: 'assert',
      patterns: ['CUDA error: device-side assert triggered', 'HIP error: device-side assert triggered'],
      role: 'head',
    },
    {
      name: 'hardware',
      patterns: ['uncorrectable ECC error', 'GPU has fallen off the bus'],
      role: 'head',
    },
    {
      name: 'other',
      patterns: [
        'CUDA error: unspecified launch failure',
        'CUDA error: unknown error',
        'CUDA error: misaligned address',
        'CUDA error: invalid device ordinal',
        'CUDA error: invalid argument',
        'CUDA error: invalid configuration argument',
        'CUDA error: invalid device function',
        'CUDA error: invalid resource handle',
        'CUDA error: no kernel image is available',
        'CUDA error: initialization error',
        'CUDA error: operation not permitted when stream is capturing',
        'CUDA driver error: device not ready',
        'CUDA error: CUDA-capable device(s) is/are busy',
        'all CUDA-capable devices are busy or unavailable',
        'CUDA error: the launch timed out and was terminated',
        '!handles_.at(i) INTERNAL ASSERT FAILED',
        'operation failed due to a previous error during capture',
        'CUDA error: an illegal instruction was encountered',
        'operation would make the legacy stream depend on a capturing blocking stream',
        'HIP error: unspecified launch failure',
        'HIP error: unknown error',
        'HIP error: invalid argument',
        'HIP error: invalid device function',
        'HIP error: no kernel image is available',
      ],
      role: 'head',
    },
  ],
};

const NCCL: MessageFamily = {
  name: 'nccl',
  anchors: [
    'NCCL WARN',
    'NCCL error',
    'ncclUnhandledCudaError',
    'unhandled cuda error',
    'Cuda failure',
    'CUDA calloc',
    'CUDA malloc',
    'HIP failure',
    'Hip failure',
    'ncclSystemError',
    'ncclInternalError',
    'ncclRemoteError',
    'unhandled system error',
  ],
  units: 'iec',
  gap: 400,
  headsMerge: true,
  pieces: [
    {
      name: 'calloc',
      patterns: [
        'Failed to CUDA calloc {requested#} bytes',
        'Failed to CUDA calloc async {requested#} bytes',
        'Failed to CUDA malloc {requested#} bytes',
        'Failed to CUDA malloc async {requested#} bytes',
        'Failed to CUDA calloc',
        'Failed to CUDA malloc',
      ],
      role: 'head',
    },
    {
      name: 'failure_oom',
      patterns: [
        'Cuda failure out of memory',
        'Cuda failure {count} out of memory',
        'Cuda failure 2: out of memory',
        'Cuda failure: out of memory',
        // RCCL.
        'HIP failure out of memory',
        'HIP failure {count} out of memory',
        'HIP failure: out of memory',
        'Hip failure out of memory',
      ],
      role: 'head',
    },
    { name: 'failure_named', patterns: ['Cuda failure', 'HIP failure', 'Hip failure'], role: 'head' },
    {
      name: 'unhandled',
      patterns: [
        'NCCL error in:',
        'ncclUnhandledCudaError',
        'unhandled cuda error',
        'unhandled system error',
        'ncclSystemError',
        'ncclInternalError',
        'ncclRemoteError',
      ],
      role: 'head',
    },
    { name: 'last_error', patterns: ['Last error:'] },
  ],
};

const LIBRARY_STATUS: MessageFamily = {
  name: 'library_status',
  anchors: [
    'CUBLAS_STATUS_',
    'HIPBLAS_STATUS_',
    'CUFFT_ALLOC_FAILED',
    'CUSPARSE_STATUS_',
    'CUSOLVER_STATUS_',
    'insufficient resources when calling',
  ],
  units: 'iec',
  gap: 0,
  pieces: [
    {
      name: 'blas_memory',
      patterns: [
        'CUDA error: CUBLAS_STATUS_ALLOC_FAILED',
        'CUBLAS_STATUS_ALLOC_FAILED',
        'HIPBLAS_STATUS_ALLOC_FAILED',
        'CUDA error: CUBLAS_STATUS_NOT_INITIALIZED',
        'CUBLAS_STATUS_NOT_INITIALIZED',
        'HIPBLAS_STATUS_NOT_INITIALIZED',
      ],
      role: 'head',
    },
    {
      name: 'blas_other',
      patterns: [
        'CUDA error: CUBLAS_STATUS_EXECUTION_FAILED',
        'CUBLAS_STATUS_EXECUTION_FAILED',
        'CUDA error: CUBLAS_STATUS_INVALID_VALUE',
        'CUBLAS_STATUS_INVALID_VALUE',
        'CUDA error: CUBLAS_STATUS_INTERNAL_ERROR',
        'CUBLAS_STATUS_INTERNAL_ERROR',
        'CUDA error: CUBLAS_STATUS_NOT_SUPPORTED',
        'CUBLAS_STATUS_NOT_SUPPORTED',
        'CUBLAS_STATUS_ARCH_MISMATCH',
        'CUBLAS_STATUS_MAPPING_ERROR',
      ],
      role: 'head',
    },
    {
      name: 'sparse_memory',
      patterns: [
        'CUFFT_ALLOC_FAILED',
        'CUSPARSE_STATUS_ALLOC_FAILED',
        'CUSPARSE_STATUS_INSUFFICIENT_RESOURCES',
        'CUSOLVER_STATUS_ALLOC_FAILED',
        'CUDA error: insufficient resources when calling',
      ],
      role: 'head',
    },
  ],
  contexts: [{ name: 'device_assert', patterns: ['device-side assert', 'Assertion srcIndex'] }],
};

const CUDNN: MessageFamily = {
  name: 'cudnn',
  anchors: [
    'CUDNN_STATUS_',
    'valid cuDNN algorithm',
    'unable to find an engine',
    'cuDNN failed to initialize',
    'No valid engine configs',
  ],
  units: 'iec',
  gap: 60,
  headsMerge: true,
  pieces: [
    {
      name: 'alloc_failed',
      patterns: [
        'CUDNN_STATUS_ALLOC_FAILED',
        // What cuDNN 9 made of it.
        'CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED',
        'CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED',
      ],
      role: 'head',
    },
    {
      name: 'other',
      patterns: [
        'CUDNN_STATUS_NOT_INITIALIZED',
        'CUDNN_STATUS_INTERNAL_ERROR',
        'CUDNN_STATUS_EXECUTION_FAILED',
        'CUDNN_STATUS_MAPPING_ERROR',
        'CUDNN_STATUS_NOT_SUPPORTED',
        'CUDNN_STATUS_BAD_PARAM',
        'CUDNN_STATUS_ARCH_MISMATCH',
        'CUDNN_STATUS_INVALID_VALUE',
        'CUDNN_STATUS_VERSION_MISMATCH',
        'CUDNN_STATUS_SUBLIBRARY_',
        'CUDNN_STATUS_RUNTIME_',
        'Unable to find a valid cuDNN algorithm to run convolution',
        'unable to find an engine to execute',
        'cuDNN failed to initialize',
        'cuDNN Error: No valid engine configs',
      ],
      role: 'head',
    },
    { name: 'device', patterns: ['GPU={device}'] },
  ],
};

const HOST_KILLER: MessageFamily = {
  name: 'host_killer',
  anchors: [
    'oom_kill event',
    'oom-kill event',
    'oom-kill:constraint',
    'invoked oom-killer',
    'Killed process',
    'Kill process',
    'OOMKilled',
    'Out Of Memory',
    'OUT_OF_MEMORY',
    'running low on memory',
    'memory pressure (OOM)',
    'exceeded memory limit (',
    'Exceeded job memory limit',
    'Exceeded step memory limit',
    'systemd-oomd killed',
    'low on resource: memory',
    'TERM_MEMLIMIT',
    'PBS: job killed: ',
  ],
  units: 'iec',
  gap: 120,
  pieces: [
    {
      name: 'slurm',
      patterns: [
        'Detected {count} oom_kill event',
        'Detected {count} oom-kill event',
        'oom_kill event in StepId',
        'oom-kill event(s)',
        'exceeded memory limit (',
        'Exceeded job memory limit',
        'Exceeded step memory limit',
      ],
      role: 'head',
    },
    { name: 'srun', patterns: ['srun: error:{~}task{~}: Out Of Memory', ': Out Of Memory'], role: 'head' },
    { name: 'sacct', patterns: ['State=OUT_OF_MEMORY', 'State: OUT_OF_MEMORY'], role: 'head' },
    {
      name: 'kernel',
      patterns: [
        'Out of memory: Killed process {pid}',
        'Out of memory: Kill process {pid}',
        'Memory cgroup out of memory: Killed process {pid}',
        'Memory cgroup out of memory: Kill process {pid}',
        // Linux 2.6, and lines whose pid was taken out.
        'Out of Memory: Killed process {pid}',
        'Out of Memory: Kill process {pid}',
        'Out of memory: Killed process',
        'Out of Memory: Killed process',
        'cgroup out of memory: Killed process',
        'oom-kill:constraint=',
        'invoked oom-killer',
      ],
      role: 'head',
    },
    // `docker inspect` prints it of every container.
    { name: 'not_killed', patterns: ['OOMKilled: false', 'OOMKilled=false'], role: 'head' },
    {
      name: 'batch',
      patterns: ['TERM_MEMLIMIT', 'PBS: job killed: mem ', 'PBS: job killed: vmem '],
      role: 'head',
    },
    { name: 'kubernetes', patterns: ['OOMKilled', 'The node was low on resource: memory'], role: 'head' },
    { name: 'systemd', patterns: ['systemd-oomd killed {count} process'], role: 'head' },
    {
      name: 'ray',
      patterns: ['node running low on memory', 'killed due to memory pressure (OOM)'],
      role: 'head',
    },
    { name: 'tail', patterns: ['OOM Killed', 'cgroup out-of-memory handler', 'anon-rss:'] },
  ],
};

const HOST_ALLOC: MessageFamily = {
  name: 'host_alloc',
  anchors: [
    'DefaultCPUAllocator',
    'std::bad_alloc',
    'MemoryError',
    'Cannot allocate memory',
    'cannot allocate memory',
    'Unable to allocate',
    'not enough memory: you tried',
    'paging file is too small',
    'enforce fail at alloc_cpu',
    'memory allocation of ',
    'JavaScript heap out of memory',
    'java.lang.OutOfMemoryError',
  ],
  units: 'iec',
  gap: 160,
  headsMerge: true,
  pieces: [
    { name: 'torch_cpu', patterns: ['enforce fail at alloc_cpu', 'DefaultCPUAllocator:'], role: 'head' },
    { name: 'requested', patterns: ['you tried to allocate {requested#} bytes'] },
    // torch 0.4 to 1.0 printed whole GB; Windows' error 1455.
    { name: 'torch_th', patterns: ['Torch: not enough memory: you tried to allocate'], role: 'head' },
    { name: 'windows', patterns: ['The paging file is too small for this operation to complete'], role: 'head' },
    { name: 'bad_alloc', patterns: ['std::bad_alloc'], role: 'head' },
    { name: 'errno', patterns: ['Cannot allocate memory', 'cannot allocate memory'], role: 'head' },
    {
      name: 'numpy',
      patterns: ['Unable to allocate {requested} for an array', 'Unable to allocate array with shape'],
      role: 'head',
    },
    // Rust, hence tokenizers and safetensors; the JVM; Node.js.
    { name: 'rust', patterns: ['memory allocation of {requested#} bytes failed'], role: 'head' },
    { name: 'heap', patterns: ['java.lang.OutOfMemoryError', 'JavaScript heap out of memory'], role: 'head' },
    { name: 'python', patterns: ['{^}MemoryError'], role: 'head' },
  ],
};

const WORKERS: MessageFamily = {
  name: 'workers',
  anchors: [
    'DataLoader worker',
    'insufficient shared memory',
    'unable to open shared memory',
    'unable to mmap',
    'bus error encountered',
    'segmentation fault encountered in worker',
    'shared memory segment',
    'unable to write to file </torch_',
    'failed to extend /dev/shm',
    'posix_fallocate failed',
    "No space left on device: '/dev/shm",
  ],
  units: 'iec',
  gap: 300,
  headsMerge: true,
  pieces: [
    {
      name: 'worker',
      patterns: [
        'DataLoader worker (pid {pid})',
        'DataLoader worker (pid',
        'DataLoader worker exited unexpectedly',
        'DataLoader worker is killed',
        'Unexpected segmentation fault encountered in worker',
      ],
      role: 'head',
    },
    { name: 'signal_killed', patterns: ['is killed by signal: Killed'] },
    { name: 'signal', patterns: ['is killed by signal: '] },
    { name: 'exited', patterns: ['exited unexpectedly'] },
    // torch's shared memory is a file of its own name; any other file is mapped where a checkpoint is read.
    { name: 'mmap', patterns: ['unable to mmap {requested#} bytes from file', 'unable to mmap'], role: 'head' },
    { name: 'torch_file', patterns: ['from file </torch_'] },
    { name: 'no_memory', patterns: ['Cannot allocate memory (12)'] },
    {
      name: 'shm',
      patterns: [
        'insufficient shared memory (shm)',
        'Insufficient shared memory (shm)',
        'No space left on device: /dev/shm',
        'unable to open shared memory object',
        'bus error encountered in worker',
        'while creating shared memory segment',
        'unable to write to file </torch_',
        'failed to extend /dev/shm/nccl',
        'posix_fallocate failed: No space left on device',
      ],
      role: 'head',
    },
  ],
  contexts: [{ name: 'shm_mentioned', patterns: ['/dev/shm', 'Bus error', 'bus error', 'shared memory (shm)'] }],
};

const ON_CHIP: MessageFamily = {
  name: 'on_chip',
  anchors: [
    'out of resource',
    'too many resources requested',
    'too much shared data',
    'in memory space vmem',
    'in memory space smem',
    'scoped vmem limit',
  ],
  units: 'iec',
  gap: 80,
  headsMerge: true,
  pieces: [
    { name: 'triton', patterns: ['out of resource:'], role: 'head' },
    { name: 'required', patterns: ['Required: {count}, Hardware limit'] },
    { name: 'launch', patterns: ['too many resources requested for launch'], role: 'head' },
    // The on-chip memories of a TPU.
    {
      name: 'tpu',
      patterns: [
        'Ran out of memory in memory space vmem',
        'Ran out of memory in memory space smem',
        'exceeded scoped vmem limit',
      ],
      role: 'head',
    },
    { name: 'ptxas', patterns: ['uses too much shared data'], role: 'head' },
  ],
};

const ILLEGAL_ACCESS: MessageFamily = {
  name: 'illegal_access',
  anchors: ['illegal memory access', 'ILLEGAL_ADDRESS', 'Memory access fault by GPU', 'MEMORY_APERTURE_VIOLATION'],
  units: 'iec',
  gap: 0,
  pieces: [
    {
      name: 'head',
      patterns: [
        'CUDA error: an illegal memory access was encountered',
        'an illegal memory access was encountered',
        'CUDA_ERROR_ILLEGAL_ADDRESS',
        'Memory access fault by GPU node',
        'HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION',
      ],
      role: 'head',
    },
  ],
  contexts: [
    { name: 'oom_mentioned', patterns: ['out of memory', 'Out of memory', 'OutOfMemory', 'OOM', 'out-of-memory'] },
  ],
};

const NVML_ASSERT: MessageFamily = {
  name: 'nvml_assert',
  anchors: ['NVML_SUCCESS =='],
  units: 'iec',
  gap: 80,
  pieces: [{ name: 'head', patterns: ['NVML_SUCCESS =='], role: 'head' }],
};

const KV_CACHE: MessageFamily = {
  name: 'kv_cache',
  anchors: [
    'No available memory for the cache',
    'To serve at least one request with',
    'Free memory on device',
    'KV cache is needed',
    'can be stored in KV cache',
    'mem-fraction-static',
    'less than desired GPU memory utilization',
    'Prefill out of memory',
    'Decode out of memory',
  ],
  units: 'iec',
  gap: 200,
  headsMerge: true,
  pieces: [
    { name: 'vllm_serve', patterns: ['To serve at least one request with the model'], role: 'head' },
    {
      name: 'vllm_free',
      patterns: [
        'Free memory on device ({free@GiB}/{total}) on startup is less than desired GPU memory utilization',
        'Free memory on device cuda:{device} ({free@GiB}/{total}) on startup is less than desired GPU memory utilization',
        'Free memory on device xpu:{device} ({free@GiB}/{total}) on startup is less than desired GPU memory utilization',
      ],
      role: 'head',
    },
    { name: 'vllm_none', patterns: ['No available memory for the cache blocks'], role: 'head' },
    { name: 'vllm_length', patterns: ['maximum number of tokens that can be stored in KV cache'], role: 'head' },
    {
      name: 'vllm_needed',
      patterns: ['KV cache is needed, which is larger than the available KV cache memory'],
      role: 'head',
    },
    {
      name: 'vllm_startup',
      patterns: [
        'on startup is less than desired GPU memory utilization',
        'is less than desired GPU memory utilization',
      ],
      role: 'head',
    },
    {
      name: 'sglang',
      patterns: [
        'Not enough memory. Please try to increase --mem-fraction-static',
        'Not enough memory. Please try increasing --mem-fraction-static',
        'Prefill out of memory. Try to lower your batch size',
        'Decode out of memory. Try to lower your batch size',
      ],
      role: 'head',
    },
  ],
};

const XLA: MessageFamily = {
  name: 'xla',
  anchors: [
    'RESOURCE_EXHAUSTED',
    'Out of memory while trying',
    'Out of memory allocating',
    'Ran out of memory in memory space',
  ],
  units: 'xla',
  gap: 60,
  headsMerge: true,
  pieces: [
    {
      name: 'head',
      patterns: [
        'RESOURCE_EXHAUSTED: Out of memory',
        'RESOURCE_EXHAUSTED: out of memory',
        'RESOURCE_EXHAUSTED: failed to allocate memory',
        'RESOURCE_EXHAUSTED: Failed to allocate memory',
        'RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage',
        'RESOURCE_EXHAUSTED: XLA:TPU compile permanent error',
        'RESOURCE_EXHAUSTED: Error allocating device buffer',
        'RESOURCE_EXHAUSTED: Error loading program',
        'Out of memory while trying to allocate',
        'RESOURCE_EXHAUSTED: Failed to allocate request for {requested}',
        'RESOURCE_EXHAUSTED: Attempting to reserve {requested}',
        'RESOURCE_EXHAUSTED: Attempting to allocate {requested}',
      ],
      role: 'head',
    },
    { name: 'head_old', patterns: ['Out of memory allocating {requested}'], role: 'head' },
    { name: 'memory_space', patterns: ['Ran out of memory in memory space'], role: 'head' },
    {
      name: 'requested',
      patterns: [
        'trying to allocate {requested}',
        'allocating {requested}',
        'Attempting to allocate {requested}',
        'Attempting to reserve {requested}',
      ],
    },
    { name: 'device', patterns: ['on device ordinal {device}'] },
  ],
};

const TENSORFLOW: MessageFamily = {
  name: 'tensorflow',
  anchors: [
    'OOM when allocating',
    'ran out of memory trying to allocate',
    'failed to allocate memory [Op:',
    'unable to allocate output tensor',
  ],
  units: 'xla',
  gap: 120,
  pieces: [
    { name: 'tensor', patterns: ['OOM when allocating tensor with shape[{shape}] and type {dtype}'], role: 'head' },
    {
      name: 'tensor_cut',
      patterns: [
        'OOM when allocating tensor',
        'device:GPU:{device}}} failed to allocate memory [Op:',
        'failed to allocate memory [Op:',
        'unable to allocate output tensor',
      ],
      role: 'head',
    },
    { name: 'bfc', patterns: ['ran out of memory trying to allocate {requested}'], role: 'head' },
    { name: 'device', patterns: ['device:GPU:{device}'] },
    { name: 'no_failure', patterns: ['The caller indicates that this is not a failure'] },
  ],
  headsMerge: true,
  contexts: [{ name: 'xla_source', patterns: ['xla/tsl/', 'external/xla', 'jaxlib'] }],
};

const HPU: MessageFamily = {
  name: 'hpu',
  anchors: ['DEVMEM Allocation failed'],
  units: 'iec',
  gap: 60,
  pieces: [
    {
      name: 'head',
      patterns: [
        'FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed',
        'FATAL ERROR :: MODULE:DEVMEM Allocation failed',
        'DEVMEM Allocation failed',
      ],
      role: 'head',
    },
    { name: 'requested', patterns: ['for size::{requested#}'] },
  ],
};

const CUPY: MessageFamily = {
  name: 'cupy',
  anchors: ['Out of memory allocating', 'out of memory to allocate'],
  units: 'iec',
  gap: 80,
  pieces: [
    {
      name: 'head',
      patterns: ['Out of memory allocating {requested,#} bytes', 'out of memory to allocate {requested#} bytes'],
      role: 'head',
    },
    { name: 'allocated', patterns: ['allocated so far: {allocated,#} bytes', '(total {allocated#} bytes)'] },
    { name: 'allowed', patterns: ['limit set to: {allowed,#} bytes'] },
  ],
};

const PADDLE: MessageFamily = {
  name: 'paddle',
  anchors: ['Out of memory error on GPU'],
  units: 'paddle',
  gap: 120,
  pieces: [
    { name: 'head', patterns: ['Out of memory error on GPU {device}', 'Out of memory error on GPU'], role: 'head' },
    { name: 'requested', patterns: ['annot allocate {requested}'] },
    { name: 'free', patterns: ['available memory is only {free}', 'available memory is {free}'] },
  ],
};

/** Runtimes of other devices, known by the names of their error codes. */
const DEVICE_CODES: MessageFamily = {
  name: 'device_codes',
  anchors: [
    'UR_RESULT_ERROR_OUT_OF_',
    'ZE_RESULT_ERROR_OUT_OF_DEVICE',
    'PI_ERROR_OUT_OF_',
    'EL0004: ',
    '(EL0004): ',
    'Allocation is out of device memory',
    'error code is 207001',
  ],
  units: 'iec',
  gap: 200,
  headsMerge: true,
  pieces: [
    {
      name: 'sycl',
      patterns: [
        'UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY',
        'UR_RESULT_ERROR_OUT_OF_RESOURCES',
        'ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY',
        'PI_ERROR_OUT_OF_RESOURCES',
        'Allocation is out of device memory on current platform',
      ],
      role: 'head',
    },
    {
      name: 'acl',
      patterns: ['EL0004: Failed to allocate memory', 'EL0004): Failed to allocate memory', 'error code is 207001'],
      role: 'head',
    },
    { name: 'acl_size', patterns: ['size:{requested#}, device_id:{device}'] },
  ],
};

/** Literals after which a later cuBLAS failure is that assert's echo; see `cublas_not_oom` in DESIGN.md. */
export const DEVICE_ASSERT_ANCHORS: readonly string[] = ['device-side assert', ': block: ['];

/** Exception classes that may be glued to whatever stands before them; longest first. */
export const EXCEPTION_CLASSES: readonly string[] = [
  'torch.distributed.DistBackendError',
  'triton.runtime.errors.OutOfResources',
  'torch.cuda.OutOfMemoryError',
  'torch.AcceleratorError',
  'torch.OutOfMemoryError',
  'ResourceExhaustedError',
  'JaxRuntimeError',
  'XlaRuntimeError',
  'OutOfMemoryError',
  'AcceleratorError',
  'RuntimeError',
  'ValueError',
  'MemoryError',
];

/** Every wording, most specific first within a family. */
export const OOM_MESSAGES: readonly OomGrammarEntry[] = [
  {
    id: 'torch.request_over_1eb',
    family: TORCH,
    versions: 'torch 1.8 and later: a corrupt or negative size, not a memory problem',
    source: CACHING_ALLOCATOR,
    kind: 'not_oom',
    when: ['exceeds_1eb'],
  },
  {
    id: 'torch.cuda_oom_graph_capture',
    family: TORCH,
    versions: 'any, where the text says that a CUDA graph was being captured (flushing the cache is forbidden then)',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom_graph_capture',
    when: ['graph_capture'],
  },
  {
    id: 'torch.xpu_oom',
    family: TORCH,
    versions: 'torch 2.4 and later, XPU',
    source: 'pytorch c10/xpu/XPUCachingAllocator.cpp',
    kind: 'xpu_oom',
    when: ['head_xpu'],
  },
  {
    id: 'torch.npu_oom',
    family: TORCH,
    versions: 'torch_npu, wording of torch 1.10',
    source: MEMORY,
    kind: 'npu_oom',
    when: ['head_npu'],
  },
  {
    id: 'torch.hip_oom',
    family: TORCH,
    versions: 'ROCm builds, all wordings; no process sentences (no NVML)',
    source: 'pytorch c10/cuda/CUDACachingAllocator.cpp, hipified',
    kind: 'hip_oom',
    when: ['head_hip'],
  },
  {
    id: 'torch.hip_oom@headless',
    family: TORCH,
    versions: 'ROCm builds, head cut off; known by the name of the variable in the hint',
    source: 'pytorch c10/cuda/CUDACachingAllocator.cpp, hipified',
    kind: 'hip_oom',
    when: ['hint_hip'],
  },
  {
    id: 'torch.cuda_oom@2.11',
    family: TORCH,
    versions: 'torch 2.11 and later [inf]',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
    when: ['hint_optimizing_link'],
  },
  {
    id: 'torch.cuda_oom@alloc_conf',
    family: TORCH,
    versions: 'torch with the renamed variable PYTORCH_ALLOC_CONF and the old link, about 2.9 to 2.10 [inf]',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
    when: ['hint_alloc_conf'],
  },
  {
    id: 'torch.cuda_oom@2.5',
    family: TORCH,
    versions: 'torch 2.4/2.5 and later [inf], with blocks free inside private pools',
    source: 'pytorch PR 124673',
    kind: 'cuda_oom',
    when: ['private_pool'],
  },
  {
    id: 'torch.cuda_oom@2.1',
    family: TORCH,
    versions: 'torch 2.1, which prints "capacty"',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
    when: ['capacty'],
  },
  {
    id: 'torch.cuda_oom@2.2',
    family: TORCH,
    versions: 'torch 2.2 to about 2.8 [inf]',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
    when: ['total'],
  },
  {
    id: 'torch.cuda_oom@1.10',
    family: TORCH,
    versions: 'torch 1.10 to 2.0',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
    when: ['reserved', 'hint_split'],
  },
  {
    id: 'torch.cuda_oom@1.4',
    family: TORCH,
    versions: 'torch 1.4 to 1.9; `allowed` from 1.8 where a memory fraction is set',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
    when: ['reserved'],
  },
  {
    id: 'torch.cuda_oom@1.0',
    family: TORCH,
    versions: 'torch 1.0 to 1.3; `cached` is reserved − allocated',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
    when: ['cached'],
  },
  {
    id: 'torch.cuda_oom',
    family: TORCH,
    versions: 'any, cut before what tells the versions apart',
    source: CACHING_ALLOCATOR,
    kind: 'cuda_oom',
  },
  {
    id: 'torch.async_oom',
    family: TORCH_ASYNC,
    versions: 'torch 1.13 and later, PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync',
    source: 'pytorch c10/cuda/CUDAMallocAsyncAllocator.cpp',
    kind: 'cuda_oom',
  },
  {
    id: 'torch.preemptive_rejection',
    family: TORCH_PREEMPT,
    versions: 'recent torch with a memory limit: refused by policy, the device was not asked',
    source: MEMORY,
    kind: 'cuda_oom',
  },
  {
    id: 'torch.allocation_retry',
    family: TORCH_RETRY,
    versions: 'torch 2.13: a warning at every failed driver attempt, also the recovered ones (issue 193195)',
    source: CACHING_ALLOCATOR,
    kind: 'note',
  },
  {
    id: 'torch.mps_oom',
    family: MPS,
    versions: 'torch 1.12 and later, MPS',
    source: 'pytorch aten/src/ATen/mps/MPSAllocator.mm',
    kind: 'mps_oom',
  },
  {
    id: 'hip.driver_oom',
    family: CUDA_DRIVER,
    versions: 'any',
    source: 'HIP runtime, hipErrorOutOfMemory',
    kind: 'hip_oom',
    when: ['head_hip'],
  },
  {
    id: 'torch.thc_oom',
    family: CUDA_DRIVER,
    // The text of error 2 of *any* CUDA call: it does not say that the caching allocator was asking.
    versions: 'torch 0.4 and earlier',
    source: 'pytorch aten/src/THC/THCGeneral.cpp, __THCudaCheck',
    kind: 'cuda_oom_driver',
    when: ['head_thc'],
  },
  {
    id: 'cuda.driver_oom_graph_capture',
    family: CUDA_DRIVER,
    versions: 'any, where the text says that a CUDA graph was being captured or instantiated',
    source: 'CUDA runtime, cudaErrorMemoryAllocation',
    kind: 'cuda_oom_graph_capture',
    when: ['head', 'graph_capture'],
  },
  {
    id: 'cuda.driver_oom',
    family: CUDA_DRIVER,
    versions:
      'any: outside the caching allocator (context, pinned host memory, module loading, graphs, other libraries)',
    source: 'CUDA runtime, cudaErrorMemoryAllocation',
    kind: 'cuda_oom_driver',
    when: ['head'],
  },
  {
    id: 'cuda.device_assert',
    family: CUDA_ERROR,
    versions: 'any',
    source: 'CUDA runtime, cudaErrorAssert',
    kind: 'not_oom',
    when: ['assert'],
  },
  {
    id: 'cuda.hardware',
    family: CUDA_ERROR,
    versions: 'any',
    source: 'CUDA runtime and NVIDIA kernel driver',
    kind: 'hardware',
    when: ['hardware'],
  },
  {
    id: 'cuda.other_error',
    family: CUDA_ERROR,
    versions:
      'any; `handles_.at(i)` and `device not ready` are symptoms of expandable segments under pressure (torch 2.9)',
    source: 'CUDA runtime',
    kind: 'other',
    when: ['other'],
  },
  {
    id: 'nccl.oom',
    family: NCCL,
    versions: 'NCCL 2.x',
    source: 'nccl src/include/alloc.h, checks.h',
    kind: 'nccl_oom',
    when: ['failure_oom'],
  },
  {
    id: 'nccl.calloc',
    family: NCCL,
    versions: 'NCCL 2.x',
    source: 'nccl src/include/alloc.h',
    kind: 'nccl_oom',
    when: ['calloc'],
  },
  {
    id: 'nccl.cuda_failure',
    family: NCCL,
    versions: 'NCCL 2.x, another CUDA failure than memory',
    source: 'nccl src/include/checks.h',
    kind: 'nccl_not_oom',
    when: ['failure_named'],
  },
  {
    id: 'nccl.unknown',
    family: NCCL,
    versions: 'NCCL 2.x, no CUDA failure named',
    source: 'pytorch torch/csrc/distributed/c10d/NCCLUtils.cpp',
    kind: 'nccl_unknown',
    when: ['unhandled'],
  },
  {
    id: 'cublas.device_assert',
    family: LIBRARY_STATUS,
    versions: 'any: the first CUDA call after a failed assert reports it in its own words',
    source: 'pytorch aten/src/ATen/cuda/Exceptions.cpp',
    kind: 'cublas_not_oom',
    when: ['device_assert', 'blas_memory'],
  },
  {
    id: 'cublas.memory',
    family: LIBRARY_STATUS,
    versions: 'any; usually the device is full when the library starts, NOT_INITIALIZED is ambiguous',
    source: 'pytorch aten/src/ATen/cuda/Exceptions.cpp',
    kind: 'cublas',
    when: ['blas_memory'],
  },
  {
    id: 'cublas.other',
    family: LIBRARY_STATUS,
    versions: 'any',
    source: 'pytorch aten/src/ATen/cuda/Exceptions.cpp',
    kind: 'cublas_not_oom',
    when: ['blas_other'],
  },
  {
    id: 'cusparse.memory',
    family: LIBRARY_STATUS,
    // No kind of its own in the vocabulary: a workspace the library could not get, as with cuBLAS.
    versions: 'any; cuFFT, cuSPARSE, cuSOLVER',
    source: MEMORY,
    kind: 'cublas',
    when: ['sparse_memory'],
  },
  {
    id: 'cudnn.alloc_failed',
    family: CUDNN,
    versions: 'any',
    source: 'cudnn.h, cudnnStatus_t',
    kind: 'cudnn',
    when: ['alloc_failed'],
  },
  {
    id: 'cudnn.other',
    family: CUDNN,
    versions: 'any; may be memory, does not say so',
    source: 'cudnn.h, cudnnStatus_t; pytorch aten/src/ATen/native/cudnn/Conv_v8.cpp',
    kind: 'cudnn_unknown',
    when: ['other'],
  },
  {
    id: 'host.not_killed',
    family: HOST_KILLER,
    versions: 'Docker, Podman: the field of a container that was not killed for its memory',
    source: MEMORY,
    kind: 'negative_text',
    when: ['not_killed'],
  },
  {
    id: 'host.killer',
    family: HOST_KILLER,
    versions: 'Linux kernel, Slurm, Kubernetes, Ray',
    source: 'linux mm/oom_kill.c; slurm src/slurmd/slurmstepd; ray memory_monitor',
    kind: 'host_oom',
  },
  {
    id: 'host.alloc',
    family: HOST_ALLOC,
    versions: 'torch, C++, Python, numpy',
    source: 'pytorch c10/core/impl/alloc_cpu.cpp',
    kind: 'host_oom',
  },
  {
    id: 'dataloader.killed',
    family: WORKERS,
    versions: 'torch; the kernel killed the worker, whatever is said about shared memory beside it',
    source: 'pytorch torch/utils/data/_utils/signal_handling.py',
    kind: 'host_oom',
    when: ['worker', 'signal_killed'],
  },
  {
    id: 'dataloader.shm',
    family: WORKERS,
    versions: 'torch',
    source: 'pytorch torch/csrc/DataLoader.cpp',
    kind: 'shm_oom',
    when: ['worker', 'shm_mentioned'],
  },
  {
    id: 'dataloader.other',
    family: WORKERS,
    versions: 'torch',
    source: 'pytorch torch/utils/data/dataloader.py',
    kind: 'dataloader_worker_killed',
    when: ['worker'],
  },
  {
    id: 'shm.mmap',
    family: WORKERS,
    versions: 'torch',
    source: 'pytorch aten/src/ATen/MapAllocator.cpp',
    kind: 'shm_oom',
    when: ['mmap', 'torch_file'],
  },
  {
    id: 'host.mmap',
    family: WORKERS,
    versions: 'torch: a checkpoint mapped into memory',
    source: 'pytorch aten/src/ATen/MapAllocator.cpp',
    kind: 'host_oom',
    when: ['mmap', 'no_memory'],
  },
  {
    id: 'shm.mmap_cut',
    family: WORKERS,
    versions: 'torch, cut before the name of the file',
    source: 'pytorch aten/src/ATen/MapAllocator.cpp',
    kind: 'shm_oom',
    when: ['mmap'],
  },
  {
    id: 'shm.exhausted',
    family: WORKERS,
    versions: 'torch, NCCL',
    source: 'pytorch aten/src/ATen/MapAllocator.cpp; nccl src/misc/shmutils.cc',
    kind: 'shm_oom',
    when: ['shm'],
  },
  {
    id: 'gpu.on_chip_resource',
    family: ON_CHIP,
    versions: 'Triton 2 and later, nvcc: memory of one multiprocessor, not of the device',
    source: 'triton python/triton/runtime/errors.py',
    kind: 'shared_mem_not_oom',
  },
  {
    id: 'cuda.illegal_access_near_oom',
    family: ILLEGAL_ACCESS,
    versions: 'any, in a text that also speaks of memory running out',
    source: 'CUDA runtime, cudaErrorIllegalAddress',
    kind: 'illegal_access_near_oom',
    when: ['oom_mentioned'],
  },
  {
    id: 'cuda.illegal_access',
    family: ILLEGAL_ACCESS,
    versions: 'any',
    source: 'CUDA runtime, cudaErrorIllegalAddress',
    kind: 'illegal_access_not_oom',
  },
  {
    id: 'torch.nvml_assert',
    family: NVML_ASSERT,
    versions: 'torch 2.1 and later, while composing an OOM message that is then never printed',
    source: CACHING_ALLOCATOR,
    kind: 'nvml_assert_in_oom_path',
  },
  {
    id: 'serving.kv_cache_budget',
    family: KV_CACHE,
    versions: 'vLLM, SGLang: the budget set aside for the KV cache, not the device',
    source: 'vllm v1/core/kv_cache_utils.py; sglang model_runner.py',
    kind: 'kv_cache_budget',
  },
  {
    id: 'xla.oom',
    family: XLA,
    versions: 'JAX, XLA',
    source: 'xla service and tsl bfc_allocator',
    kind: 'jax_oom',
  },
  {
    id: 'tensorflow.bfc_retry',
    family: TENSORFLOW,
    versions: 'TensorFlow, JAX: a larger workspace would have been faster; the caller goes on with a smaller one',
    source: 'tensorflow core/common_runtime/bfc_allocator.cc, AllocateRaw with retry_on_failure false',
    kind: 'note',
    when: ['bfc', 'no_failure'],
  },
  {
    id: 'xla.bfc_oom',
    family: TENSORFLOW,
    versions: 'JAX: the same allocator as TensorFlow, known by its path',
    source: 'xla tsl/framework/bfc_allocator.cc',
    kind: 'jax_oom',
    when: ['bfc', 'xla_source'],
  },
  {
    id: 'tensorflow.oom',
    family: TENSORFLOW,
    versions: 'TensorFlow 1 and 2; the request is the tensor, shape times element',
    source: 'tensorflow core/framework/op_kernel.cc',
    kind: 'tf_oom',
  },
  {
    id: 'cupy.oom',
    family: CUPY,
    // A pool of its own: torch's allocator was not asked, nor does the message say what the device holds.
    versions: 'CuPy; `to allocate … (total …)` before 6',
    source: 'cupy cupy/cuda/memory.pyx OutOfMemoryError',
    kind: 'cuda_oom_driver',
  },
  {
    id: 'paddle.oom',
    family: PADDLE,
    // An allocator of its own, as with CuPy.
    versions: 'PaddlePaddle 1.6 and later; `… memory has been allocated` since 2.1 [inf]',
    source: 'paddle fluid/memory/allocation/cuda_allocator.cc',
    kind: 'cuda_oom_driver',
  },
  {
    id: 'sycl.oom',
    family: DEVICE_CODES,
    versions: 'oneAPI 2023 and later; OUT_OF_RESOURCES is what the driver usually says of memory',
    source: 'intel/llvm sycl, unified-runtime ur_result_t',
    kind: 'xpu_oom',
    when: ['sycl'],
  },
  {
    id: 'ascend.oom',
    family: DEVICE_CODES,
    versions: 'CANN',
    source: MEMORY,
    kind: 'npu_oom',
    when: ['acl'],
  },
  {
    id: 'habana.hpu_oom',
    family: HPU,
    versions: 'Intel Gaudi PyTorch bridge',
    source: MEMORY,
    kind: 'hpu_oom',
  },
];

/** Every family once, in the order of the list. */
export const MESSAGE_FAMILIES: readonly MessageFamily[] = [...new Set(OOM_MESSAGES.map((entry) => entry.family))];

/** Grammar id of a text that speaks of memory running out without stating that it did. */
export const PROSE_ID = 'prose.mention';

/** A figure computed from printed ones, with the sum of their reading errors. */
export interface DerivedBytes {
  readonly bytes: number;
  readonly precisionBytes: number;
}

/**
 * Memory torch holds on the device: printed (1.4–2.0), or allocated + unallocated (1.0–1.3 and 2.1 on). Since 2.4 the printed
 * "allocated" already contains the free blocks of private pools, so they are not added again.
 */
export function reservedOf(row: Pick<IncidentRow, 'bytes'>): DerivedBytes | null {
  const { reserved, allocated, reservedUnallocated } = row.bytes;
  if (reserved !== undefined) return { bytes: reserved.bytes, precisionBytes: reserved.precisionBytes };
  if (allocated === undefined || reservedUnallocated === undefined) return null;
  return {
    bytes: allocated.bytes + reservedUnallocated.bytes,
    precisionBytes: allocated.precisionBytes + reservedUnallocated.precisionBytes,
  };
}

/** Reserved but not allocated: printed, or reserved − allocated of the 1.4–2.0 wordings. */
export function unallocatedOf(row: Pick<IncidentRow, 'bytes'>): DerivedBytes | null {
  const { reserved, allocated, reservedUnallocated } = row.bytes;
  if (reservedUnallocated !== undefined) {
    return { bytes: reservedUnallocated.bytes, precisionBytes: reservedUnallocated.precisionBytes };
  }
  if (reserved === undefined || allocated === undefined) return null;
  return {
    bytes: reserved.bytes - allocated.bytes,
    precisionBytes: reserved.precisionBytes + allocated.precisionBytes,
  };
}

/** Which of the processes named in a message is the failing one. */
export interface ProcessReading {
  /** The failing process's own use: from its own sentence, or the one process that must be it. */
  readonly self: DerivedBytes | null;
  /** Sum over the other named processes; null if none is named. */
  readonly others: DerivedBytes | null;
  /** The pid under which the failing process itself is listed. */
  readonly selfPid: number | null;
  /**
   * No "this process" sentence, but processes are named: in a container torch does not recognise its own pid, so one of
   * them may be the failing process. `self` is then inferred.
   */
  readonly ambiguous: boolean;
}

/**
 * Applies the rule for messages from inside a pid namespace: without a "this process" sentence, if exactly one named process
 * uses at least what torch has reserved, it is the failing process. Both sides are compared with their reading errors.
 */
export function readProcesses(row: Pick<IncidentRow, 'bytes' | 'processes'>): ProcessReading {
  const sum = (rows: IncidentRow['processes']): DerivedBytes | null =>
    rows.length === 0
      ? null
      : {
          bytes: rows.reduce((total, row) => total + row.printed.bytes, 0),
          precisionBytes: rows.reduce((total, row) => total + row.printed.precisionBytes, 0),
        };
  const mine = row.bytes.process;
  if (mine !== undefined) {
    const self = { bytes: mine.bytes, precisionBytes: mine.precisionBytes };
    return { self, others: sum(row.processes), selfPid: null, ambiguous: false };
  }
  const ambiguous = row.processes.length > 0;
  const reserved = reservedOf(row);
  const candidates =
    reserved === null
      ? []
      : row.processes.filter(
          ({ printed }) => printed.bytes + printed.precisionBytes >= reserved.bytes - reserved.precisionBytes,
        );
  const only = candidates.length === 1 ? candidates[0] : undefined;
  if (only === undefined) return { self: null, others: sum(row.processes), selfPid: null, ambiguous };
  return {
    self: { bytes: only.printed.bytes, precisionBytes: only.printed.precisionBytes },
    others: sum(row.processes.filter((process) => process !== only)),
    selfPid: only.pid,
    ambiguous,
  };
}
