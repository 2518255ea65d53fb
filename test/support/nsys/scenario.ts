/**
 * A planted capture: two ranks of one training run under one profiler, with everything that is easy to get wrong, and what is true of it. The same
 * seed gives the same capture.
 */
import { createRandom, deriveSeed, wholeBetween } from '../../../samples/generate/simulate/random.js';
import { MIB } from '../../../src/model/units.js';
import { createCallChains } from './call-chains.js';
import { createProcess, type ProcessPlan, type SimulatedProcess, type TorchState } from './process.js';
import { emptyRecording, type Owner, type Recording, type ThreadPlan } from './rows.js';
import { type Ending, train, type Workload } from './training.js';
import {
  type BytesByOwner,
  ownersAt,
  type PlantedOom,
  type TorchTruth,
  type Truth,
  truthOf,
  walkAllocations,
} from './truth.js';

export interface PlantedGpu {
  readonly id: number;
  readonly name: string;
  readonly totalBytes: number;
  readonly busLocation: string;
  readonly uuid: string;
}

export interface PlantedProcess {
  readonly pid: number;
  readonly rank: number;
  readonly device: number;
  readonly name: string;
  readonly threads: readonly ThreadPlan[];
  /** What its snapshot holds. */
  readonly torch: TorchState;
}

export interface Scenario {
  readonly seed: number;
  /** UTC of the report's time 0. Beyond 2^53. */
  readonly utcEpochNs: bigint;
  /** The machine's clock since boot at that moment: what ANALYSIS_DETAILS tells time in. */
  readonly systemClockNs: number;
  readonly durationNs: number;
  readonly hostname: string;
  readonly gpus: readonly PlantedGpu[];
  readonly processes: readonly PlantedProcess[];
  readonly recording: Recording;
  /** Snapshot time in µs = (utcEpochNs + start) / 1000 + this, plus up to `jitterUs`. */
  readonly skewUs: number;
  readonly jitterUs: number;
  /** Settings torch ran with. */
  readonly allocConf: string;
  /** Environment of the launched process, as META_DATA_CAPTURE lists it. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the profiler kept of the machine's environment and of each process's output. */
  readonly deviceEnvironment: string;
  readonly output: string;
  /** Texts of the report that must never get into a store. */
  readonly secrets: readonly string[];
  readonly truth: Truth;
}

export const PIDS = [4101, 4102] as const;
/** What torch and the driver call the total of an H100 with 80 GB: 79.11 GiB. */
const GPU_BYTES = 84_942_979_072;
const SKEW_US = 350;
const JITTER_US = 4;
const ALLOC_CONF = 'expandable_segments:False';
const HOME = '/home/planted-user';

const THREADS = (pid: number, device: number): ProcessPlan['threads'] => ({
  main: { tid: pid, name: 'pt_main_thread' },
  autograd: { tid: pid + 50, name: `pt_autograd_${device}` },
  nccl: { tid: pid + 60, name: `NCCL Progress ${device}` },
  unnamed: { tid: pid + 70, name: null },
});

export function plantedScenario(seed: number): Scenario {
  const random = createRandom(deriveSeed('nsys', seed));
  const some = (low: number, high: number): number => wholeBetween(random, low, high);
  const utcEpochNs =
    1_780_000_000_000_000_000n + BigInt(some(0, 86_399)) * 1_000_000_000n + BigInt(some(0, 999_999_999));
  const recording = emptyRecording();
  const chains = createCallChains(recording.frames);
  /** Segments are multiples of 2 MiB. */
  const gigabytes = (low: number, high: number): number => some(low * 512, high * 512) * 2 * MIB;
  const workloads: readonly Workload[] = [
    {
      weightBytes: gigabytes(23, 25),
      gradBytes: gigabytes(9, 10),
      optimizerBytes: gigabytes(7, 8),
      layers: 8,
      activationBytes: gigabytes(1.75, 2),
      ncclFirst: false,
      runsOut: true,
    },
    {
      weightBytes: gigabytes(19, 21),
      gradBytes: gigabytes(7, 8),
      optimizerBytes: gigabytes(5, 6),
      layers: 6,
      activationBytes: gigabytes(1.25, 1.5),
      ncclFirst: true,
      runsOut: false,
    },
  ];
  const simulated: SimulatedProcess[] = [];
  const endings: Ending[] = [];
  for (const [rank, pid] of PIDS.entries()) {
    const process = createProcess(
      {
        pid,
        rank,
        device: rank,
        totalBytes: GPU_BYTES,
        contextBytes: some(420, 460) * 2 * MIB,
        threads: THREADS(pid, rank),
        // Domains are numbered by each process for itself.
        ncclDomain: rank + 1,
        utcEpochNs,
        skewUs: SKEW_US,
        jitterUs: JITTER_US,
        random: createRandom(deriveSeed('nsys process', seed, rank)),
      },
      recording,
      chains,
    );
    simulated.push(process);
    endings.push(train(process, workloads[rank]!, createRandom(deriveSeed('nsys training', seed, rank))));
  }
  const durationNs = lastNs(recording) + 5_000_000;
  recording.diagnostics.push(...diagnostics(durationNs));

  const walk = walkAllocations(recording.memory, (pid) => PIDS.indexOf(pid as (typeof PIDS)[number]));
  const oom = plantedOom(recording, simulated[0]!, endings[0]!, (pid, ns) => ownersAt(walk, pid, ns));
  const processes = simulated.map(({ plan }, i): PlantedProcess => {
    const { pid, rank, device, threads } = plan;
    return { pid, rank, device, name: 'python3', threads: Object.values(threads), torch: endings[i]!.torch };
  });
  const torch = processes.map((process, i) => torchTruth(process, endings[i]!, walk.allocations));
  const rows = rowCounts(recording, processes);
  const secrets = {
    key: `planted-secret-key-${seed}`,
    token: `hf_plantedsecrettoken${seed}`,
    device: `planted-wandb-secret-${seed}`,
    output: `planted-stdout-secret-${seed}`,
  };
  return {
    seed,
    utcEpochNs,
    // A hundred days of uptime, and not a round number of anything.
    systemClockNs: 9_250_117_000_000_000 + some(0, 999_999_999),
    durationNs,
    hostname: `planted-node-${String(some(1, 64)).padStart(3, '0')}`,
    gpus: PIDS.map((_, id) => ({
      id,
      name: 'NVIDIA H100 80GB HBM3',
      totalBytes: GPU_BYTES,
      busLocation: `0000:${id === 0 ? '1b' : '43'}:00.0`,
      uuid: `GPU-0000000${id}-1111-2222-3333-44444444444${id}`,
    })),
    processes,
    recording,
    skewUs: SKEW_US,
    jitterUs: JITTER_US,
    allocConf: ALLOC_CONF,
    environment: {
      AWS_SECRET_ACCESS_KEY: secrets.key,
      HF_TOKEN: secrets.token,
      HOME,
      NCCL_DEBUG: 'WARN',
      PYTORCH_CUDA_ALLOC_CONF: ALLOC_CONF,
      SLURM_JOB_ID: '770133',
    },
    deviceEnvironment: `{"PATH": "/usr/bin", "WANDB_API_KEY": "${secrets.device}"}`,
    output: `loading weights\nlogin with ${secrets.output}\n`,
    secrets: [...Object.values(secrets), HOME, 'planted-user', 'planted-laptop'],
    truth: truthOf(recording, simulated, { oom, torch, rows }),
  };
}

/** GPU work may end after the last call. */
function lastNs({ api, memory, nvtx, kernels, copies, memsets, syncs, graphs }: Recording): number {
  const spans = [...api, ...kernels, ...copies, ...memsets, ...syncs, ...graphs].map(({ endNs }) => endNs);
  const moments = [...memory.map(({ startNs }) => startNs), ...nvtx.map(({ startNs, endNs }) => endNs ?? startNs)];
  return [...spans, ...moments].reduce((a, b) => Math.max(a, b), 0);
}

function diagnostics(durationNs: number): Recording['diagnostics'] {
  const text = (kind: string): string => `Not all ${kind} events might have been collected.`;
  return [
    { startNs: 0, severity: 1, text: 'Profiling has started.', pid: null },
    { startNs: durationNs, severity: 1, text: 'Profiling has stopped.', pid: null },
    { startNs: durationNs, severity: 2, text: text('NVTX'), pid: PIDS[1] },
    { startNs: durationNs, severity: 2, text: text('CUDA'), pid: PIDS[0] },
  ];
}

const sum = (bytes: BytesByOwner, ...without: readonly Owner[]): number =>
  Object.entries(bytes).reduce((total, [owner, part]) => total + (without.includes(owner as Owner) ? 0 : part), 0);

function plantedOom(
  recording: Recording,
  { plan }: SimulatedProcess,
  ending: Ending,
  liveAt: (pid: number, ns: number) => BytesByOwner,
): PlantedOom {
  const { pid, rank, device, contextBytes } = plan;
  const { report } = ending.oom!;
  const { atNs } = recording.failures.findLast((failure) => failure.pid === pid && failure.owner === 'torch')!;
  const pool = recording.memory.findLast((event) => event.pid === pid && event.pool !== null)!.pool!;
  const live = liveAt(pid, atNs);
  const nonTorchBytes = sum(live, 'torch', 'async_pool') + pool.bytes;
  const statics = recording.memory.filter((event) => event.pid === pid && event.kind === 'device_static');
  return {
    pid,
    rank,
    device,
    atNs,
    requestedBytes: report.requestedBytes,
    segmentBytes: report.segmentBytes,
    deviceTotalBytes: report.deviceTotalBytes,
    deviceFreeBytes: report.deviceFreeBytes,
    processBytes: report.processBytes,
    reservedBytes: report.reservedBytes,
    allocatedBytes: report.allocatedBytes,
    driverLiveBytes: (live.torch ?? 0) + nonTorchBytes,
    nonTorchBytes,
    staticBytes: statics.reduce((total, { bytes }) => total + bytes, 0),
    invisibleBytes: contextBytes,
  };
}

function torchTruth(process: PlantedProcess, ending: Ending, allocations: Truth['allocations']): TorchTruth {
  const { pid, rank, device, torch } = process;
  const traced = new Set(torch.trace.flatMap(({ action, addr }) => (action === 'segment_alloc' ? [addr] : [])));
  const atNs = ending.atNs;
  return {
    pid,
    rank,
    device,
    atNs,
    reservedBytes: torch.reservedBytes,
    allocatedBytes: torch.allocatedBytes,
    traceEntries: torch.trace.length,
    segments: torch.segments.map(({ addr, totalBytes }) => {
      const mine = allocations.find(
        (block) =>
          block.pid === pid &&
          block.owner === 'torch' &&
          block.address === addr &&
          block.startNs <= atNs &&
          (block.endNs === null || block.endNs > atNs),
      );
      if (mine === undefined) throw new Error(`the segment at ${addr} has no allocation`);
      return { address: addr, bytes: totalBytes, startNs: mine.startNs, isInTrace: traced.has(addr) };
    }),
  };
}

function rowCounts(recording: Recording, processes: readonly PlantedProcess[]): Truth['rows'] {
  const { library } = recording;
  return {
    CUPTI_ACTIVITY_KIND_RUNTIME: recording.api.length,
    CUDA_GPU_MEMORY_USAGE_EVENTS: recording.memory.length,
    CUDA_GPU_MEMORY_POOL_EVENTS: recording.pool.length,
    CUPTI_ACTIVITY_KIND_KERNEL: recording.kernels.length,
    CUPTI_ACTIVITY_KIND_MEMCPY: recording.copies.length,
    CUPTI_ACTIVITY_KIND_MEMSET: recording.memsets.length,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: recording.syncs.length,
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE: recording.graphs.length,
    NVTX_EVENTS: recording.nvtx.length,
    CUBLAS_EVENTS: library.filter((call) => call.library === 'cublas').length,
    CUDNN_EVENTS: library.filter((call) => call.library === 'cudnn').length,
    CUDA_CALLCHAINS: recording.frames.length,
    DIAGNOSTIC_EVENT: recording.diagnostics.length,
    PROCESSES: processes.length,
    ThreadNames: processes.reduce((n, { threads }) => n + threads.filter(({ name }) => name !== null).length, 0),
    TARGET_INFO_GPU: processes.length,
    TARGET_INFO_CUDA_DEVICE: processes.length ** 2,
    TARGET_INFO_CUDA_CONTEXT_INFO: processes.length,
    TARGET_INFO_CUDA_NULL_STREAM: processes.length,
    TARGET_INFO_SESSION_START_TIME: 1,
    ANALYSIS_DETAILS: 1,
  };
}
