/**
 * A planted capture: two ranks of one training run under one profiler, with everything that is easy to get wrong, and
 * what is true of it. The same seed gives the same capture.
 */
import { createRandom, deriveSeed, wholeBetween } from '../../../samples/generate/simulate/random.js';
import { CallChains } from '../../../samples/generate/write/nsys/call-chains.js';
import type { CapturedProcess } from '../../../samples/generate/write/nsys/capture.js';
import { MIB } from '../../../src/model/units.js';
import { createProcess, type ProcessPlan, type SimulatedProcess } from './process.js';
import { type Owner, plantedRecording, type Recording } from './rows.js';
import { type Ending, train, type Workload } from './training.js';
import { type BytesByOwner, ownersAt, truthOf, type Walk, walkAllocations } from './truth.js';

/** `torch`: what its snapshot holds. */
export interface PlantedProcess extends CapturedProcess {
  readonly rank: number;
  readonly torch: Ending['torch'];
}

type SizeName = 'weightBytes' | 'gradBytes' | 'optimizerBytes' | 'activationBytes';

export const PIDS = [4101, 4102] as const;
/** Snapshot time in µs = (utcEpochNs + start) / 1000 + `SKEW_US`, plus up to `JITTER_US`. */
const SKEW_US = 350;
const JITTER_US = 4;
/** What torch and the driver call the total of an H100 with 80 GB: 79.11 GiB. */
const GPU_BYTES = 84_942_979_072;
const ALLOC_CONF = 'expandable_segments:False';
const HOME = '/home/planted-user';

const THREADS = (pid: number, device: number): ProcessPlan['threads'] => ({
  main: { tid: pid, name: 'pt_main_thread' },
  autograd: { tid: pid + 50, name: `pt_autograd_${device}` },
  nccl: { tid: pid + 60, name: `NCCL Progress ${device}` },
  unnamed: { tid: pid + 70, name: null },
});

export function plantedScenario(seed: number) {
  const random = createRandom(deriveSeed('nsys', seed));
  const some = (low: number, high: number): number => wholeBetween(random, low, high);
  const utcEpochNs =
    1_780_000_000_000_000_000n + BigInt(some(0, 86_399)) * 1_000_000_000n + BigInt(some(0, 999_999_999));
  const recording = plantedRecording();
  const chains = new CallChains();
  /** Segments are multiples of 2 MiB. */
  const gigabytes = (low: number, high: number): number => some(low * 512, high * 512) * 2 * MIB;
  const workload = (sizes: Readonly<Record<SizeName, readonly number[]>>, layers: number, rank: number): Workload => {
    const bytes = Object.entries(sizes).map(([name, [low, high]]) => [name, gigabytes(low!, high!)] as const);
    const drawn = Object.fromEntries(bytes) as Record<SizeName, number>;
    return { ...drawn, layers, ncclFirst: rank === 1, runsOut: rank === 0 };
  };
  const workloads = [
    workload({ weightBytes: [23, 25], gradBytes: [9, 10], optimizerBytes: [7, 8], activationBytes: [1.75, 2] }, 8, 0),
    workload({ weightBytes: [19, 21], gradBytes: [7, 8], optimizerBytes: [5, 6], activationBytes: [1.25, 1.5] }, 6, 1),
  ];
  const simulated: SimulatedProcess[] = [];
  const endings: Ending[] = [];
  for (const [rank, pid] of PIDS.entries()) {
    const process = createProcess(
      {
        ...{ pid, rank, device: rank, totalBytes: GPU_BYTES },
        contextBytes: some(420, 460) * 2 * MIB,
        threads: THREADS(pid, rank),
        // Domains are numbered by each process for itself.
        ncclDomain: rank + 1,
        ...{ utcEpochNs, skewUs: SKEW_US, jitterUs: JITTER_US },
        random: createRandom(deriveSeed('nsys process', seed, rank)),
      },
      recording,
      chains,
    );
    simulated.push(process);
    endings.push(train(process, workloads[rank]!, createRandom(deriveSeed('nsys training', seed, rank))));
  }
  recording.frames.push(...chains.frames);
  const durationNs = lastNs(recording) + 5_000_000;
  recording.diagnostics.push(...diagnostics(durationNs));

  const walk = walkAllocations(recording.memory, (pid) => PIDS.indexOf(pid as (typeof PIDS)[number]));
  const oom = plantedOom(recording, simulated[0]!, endings[0]!, walk);
  const processes = simulated.map(
    ({ plan: { pid, rank, device, threads } }, i): PlantedProcess => ({
      ...{ pid, rank, device, name: 'python3', threads: Object.values(threads), torch: endings[i]!.torch },
    }),
  );
  const torch = processes.map((process, i) => torchTruth(process, endings[i]!, walk));
  const rows = rowCounts(recording, processes);
  const secrets = {
    ...{ key: `planted-secret-key-${seed}`, token: `hf_plantedsecrettoken${seed}` },
    ...{ device: `planted-wandb-secret-${seed}`, output: `planted-stdout-secret-${seed}` },
  };
  return {
    ...{ seed, utcEpochNs, durationNs, processes, recording, skewUs: SKEW_US, jitterUs: JITTER_US },
    // A hundred days of uptime, and not a round number of anything.
    systemClockNs: 9_250_117_000_000_000 + some(0, 999_999_999),
    hostname: `planted-node-${String(some(1, 64)).padStart(3, '0')}`,
    gpus: PIDS.map((_, id) => ({
      ...{
        id,
        name: 'NVIDIA H100 80GB HBM3',
        totalBytes: GPU_BYTES,
        busLocation: `0000:${id === 0 ? '1b' : '43'}:00.0`,
      },
      uuid: `GPU-0000000${id}-1111-2222-3333-44444444444${id}`,
    })),
    allocConf: ALLOC_CONF,
    /** Of the launched process, as META_DATA_CAPTURE lists it. */
    environment: {
      ...{ AWS_SECRET_ACCESS_KEY: secrets.key, HF_TOKEN: secrets.token, HOME, NCCL_DEBUG: 'WARN' },
      ...{ PYTORCH_CUDA_ALLOC_CONF: ALLOC_CONF, SLURM_JOB_ID: '770133' },
    },
    deviceEnvironment: `{"PATH": "/usr/bin", "WANDB_API_KEY": "${secrets.device}"}`,
    output: `loading weights\nlogin with ${secrets.output}\n`,
    secrets: [...Object.values(secrets), HOME, 'planted-user', 'planted-laptop'],
    truth: { ...truthOf(recording, walk, simulated, oom), oom, torch, rows },
  };
}
export type Scenario = ReturnType<typeof plantedScenario>;

/** GPU work may end after the last call. */
function lastNs({ api, memory, nvtx, kernels, copies, memsets, syncs, graphs }: Recording): number {
  const spans = [...api, ...kernels, ...copies, ...memsets, ...syncs, ...graphs].map(({ endNs }) => endNs);
  const moments = [...memory.map(({ startNs }) => startNs), ...nvtx.map(({ startNs, endNs }) => endNs ?? startNs)];
  return [...spans, ...moments].reduce((a, b) => Math.max(a, b), 0);
}

function diagnostics(durationNs: number): Recording['diagnostics'] {
  const lost = (kind: string, pid: number) => ({
    ...{ startNs: durationNs, severity: 2, text: `Not all ${kind} events might have been collected.`, pid },
  });
  return [
    { startNs: 0, severity: 1, text: 'Profiling has started.', pid: null },
    { startNs: durationNs, severity: 1, text: 'Profiling has stopped.', pid: null },
    ...[lost('NVTX', PIDS[1]), lost('CUDA', PIDS[0])],
  ];
}

const sum = (bytes: BytesByOwner, ...without: readonly Owner[]): number =>
  Object.entries(bytes).reduce((total, [owner, part]) => total + (without.includes(owner as Owner) ? 0 : part), 0);

/** What torch's message has, and the memory that it does not show. */
function plantedOom(recording: Recording, { plan }: SimulatedProcess, ending: Ending, walk: Walk) {
  const { pid, rank, device, contextBytes } = plan;
  const { report } = ending.oom!;
  const { requestedBytes, segmentBytes, deviceTotalBytes, deviceFreeBytes, processBytes } = report;
  const { reservedBytes, allocatedBytes } = report;
  const { atNs } = recording.failures.findLast((failure) => failure.pid === pid && failure.owner === 'torch')!;
  const pool = recording.memory.findLast((event) => event.pid === pid && event.pool !== null)!.pool!;
  const live = ownersAt(walk, pid, atNs);
  const nonTorchBytes = sum(live, 'torch', 'async_pool') + pool.bytes;
  const statics = recording.memory.filter((event) => event.pid === pid && event.kind === 'device_static');
  return {
    ...{ pid, rank, device, atNs, requestedBytes, segmentBytes, deviceTotalBytes, deviceFreeBytes, processBytes },
    ...{ reservedBytes, allocatedBytes, nonTorchBytes },
    /** Live memory of kind `device`, pools by what they hold. */
    driverLiveBytes: (live.torch ?? 0) + nonTorchBytes,
    staticBytes: statics.reduce((total, { bytes }) => total + bytes, 0),
    /** Context and modules, which no event shows: `processBytes` = this + `driverLiveBytes` + `staticBytes`. */
    invisibleBytes: contextBytes,
  };
}

/** `startNs`: of the driver's allocation. `isInTrace`: whether the trace has the segment_alloc. */
function torchTruth({ pid, rank, device, torch }: PlantedProcess, { atNs }: Ending, { allocations }: Walk) {
  const traced = new Set(torch.trace.flatMap(({ action, addr }) => (action === 'segment_alloc' ? [addr] : [])));
  const { reservedBytes, allocatedBytes } = torch;
  const torchBlocks = allocations.filter((block) => block.pid === pid && block.owner === 'torch');
  const live = torchBlocks.filter(({ startNs, endNs }) => startNs <= atNs && (endNs === null || endNs > atNs));
  return {
    ...{ pid, rank, device, atNs, reservedBytes, allocatedBytes },
    segments: torch.segments.map(({ addr, totalBytes }) => {
      const mine = live.find(({ address }) => address === addr);
      if (mine === undefined) throw new Error(`the segment at ${addr} has no allocation`);
      return { address: addr, bytes: totalBytes, startNs: mine.startNs, isInTrace: traced.has(addr) };
    }),
  };
}

function rowCounts(recording: Recording, processes: readonly Pick<PlantedProcess, 'threads'>[]) {
  const { api, memory, pool, kernels, copies, memsets, syncs, graphs, nvtx, frames, diagnostics, library } = recording;
  const named = processes.flatMap(({ threads }) => threads.filter(({ name }) => name !== null));
  const counts = {
    ...{ CUPTI_ACTIVITY_KIND_RUNTIME: api, CUDA_GPU_MEMORY_USAGE_EVENTS: memory, CUDA_GPU_MEMORY_POOL_EVENTS: pool },
    ...{ CUPTI_ACTIVITY_KIND_KERNEL: kernels, CUPTI_ACTIVITY_KIND_MEMCPY: copies, CUPTI_ACTIVITY_KIND_MEMSET: memsets },
    ...{ CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: syncs, CUPTI_ACTIVITY_KIND_GRAPH_TRACE: graphs, NVTX_EVENTS: nvtx },
    CUBLAS_EVENTS: library.filter((call) => call.library === 'cublas'),
    CUDNN_EVENTS: library.filter((call) => call.library === 'cudnn'),
    ...{ CUDA_CALLCHAINS: frames, DIAGNOSTIC_EVENT: diagnostics, PROCESSES: processes, ThreadNames: named },
    ...{ TARGET_INFO_GPU: processes, TARGET_INFO_CUDA_DEVICE: processes.flatMap(() => processes) },
    ...{ TARGET_INFO_CUDA_CONTEXT_INFO: processes, TARGET_INFO_CUDA_NULL_STREAM: processes },
    ...{ TARGET_INFO_SESSION_START_TIME: [0], ANALYSIS_DETAILS: [0] },
  };
  return Object.fromEntries(Object.entries(counts).map(([table, rows]) => [table, rows.length]));
}
