/** A profile of one rank as Nsight Systems 2026.4 exports it to SQLite. */
import type { RankProfile } from '../../run.js';
import type {
  ProfiledRange,
  ProfiledStream,
  ProfiledThread,
  ProfileRecording,
} from '../../simulate/profile/recording.js';
import { deriveSeed } from '../../simulate/random.js';
import type { RunFacts } from '../run-facts.js';
import { jobOf, worldSize } from '../run-facts.js';
import { CallChains } from './call-chains.js';
import {
  COPY,
  ENUMERATIONS,
  emptyRecording,
  eventRows,
  exportFacts,
  exportParameters,
  NVTX,
  OUT_OF_MEMORY,
  pairs,
  type Recording,
  stringTable,
  targetRows,
} from './capture.js';
import { databaseSql, filledTables } from './database.js';
import { kernel } from './kernels.js';

/** As `nsys profile --output=nsys_rank%q{SLURM_PROCID}` and `nsys export --type=sqlite` name it. */
export function exportName({ rank }: Pick<RankProfile, 'rank'>): string {
  return `nsys_rank${rank}.sqlite`;
}

/** What it was launched with, as {@link launchScript} has it. */
export const PROFILE_OPTIONS = [
  ...['--trace=cuda,nvtx,cublas', '--sample=none', '--cpuctxsw=none'],
  ...['--cuda-memory-usage=true', '--cudabacktrace=memory'],
] as const;

/** Traceback and the end of the process: what comes after its failure. */
const END_US = 2_371_000;
/** Since the machine's start, at the start of the collection. */
const UPTIME_NS = 9_250_117_402_316_118;
/** The collection starts that long after the job. */
const LATE_US = 2_413_508;
/** How far the snapshot's clock is ahead of the report's: the profiler converts counters, and so does torch. */
const SKEW_NS = 214_417;
/** What launching work takes the host. */
const LAUNCH_US = 4.1;
/** Within its call, the moment at which memory has changed hands. */
const MEMORY_SHARE = 0.7;
const DOMAINS: Readonly<Record<ProfiledRange['domain'], number>> = { default: 0, NCCL: 1 };
/** 7 is the default stream. */
const STREAM_NUMBERS: Readonly<Record<ProfiledStream, number>> = { compute: 7, data_parallel: 23, pipeline: 27 };
/** Tables of the schema which the samples do not fill. */
const OMITTED = ['ENUM_CUDA_MEMPOOL_TYPE', 'ENUM_CUDA_MEMPOOL_OPER'];

/** Threads by their numbers after the process's own. */
const threadsOf = (pid: number, device: number) => ({
  main: { tid: pid, name: 'pt_main_thread' },
  nccl_service: { tid: pid + 274, name: `NCCL Service ${device}` },
  watchdog: { tid: pid + 281, name: 'pt_nccl_watchdg' },
  autograd: { tid: pid + 311, name: `pt_autograd_${device}` },
});

/** The report's clock from the simulation's µs. Moments in order stay in order. */
function clockFrom(startUs: number): (us: number) => number {
  return (us) => {
    const whole = Math.floor(us - startUs);
    // The simulation counts in whole µs; a real clock does not.
    const digits = (Math.imul(whole, 0x9e37_79b1) >>> 8) % 600;
    return whole * 1000 + digits + Math.floor((us - startUs - whole) * 400);
  };
}

/** The SQL that makes the database. */
export function exportSql(facts: RunFacts, { attempt, rank, recording }: RankProfile): string {
  const { run, plan } = facts;
  const { ranks, plan: launched } = run.attempts[attempt]!;
  const { device, node, endUs } = ranks.find((one) => one.rank === rank)!;
  const startUs = launched.startUs + LATE_US;
  const ns = clockFrom(startUs);
  const utcEpochNs = BigInt(startUs) * 1000n - BigInt(SKEW_NS);
  const durationNs = ns(endUs + END_US);
  const pid = facts.pid(attempt, rank);
  const threads = threadsOf(pid, device);
  const strings = stringTable();
  const captured = capturedBy(recording, {
    ...{ pid, device, ns, id: strings.id },
    tid: (thread) => threads[thread].tid,
  });
  const print = (startNs: number, text: string) => ({ startNs, severity: 1, text, pid });
  captured.diagnostics.push(
    print(0, 'Profiling has started.'),
    print(31_117_904, `Process ${pid} was launched by the profiler.`),
    print(18_204_551_030, 'NVTX injection initialized successfully.'),
    print(18_911_460_218, 'CUDA injection initialized successfully.'),
    print(durationNs, 'Profiling has stopped.'),
  );
  const gpus = Array.from({ length: Math.min(plan.gpu.perNode, worldSize(plan)) }, (_, id) => ({
    ...{ id, name: plan.gpu.name, totalBytes: plan.gpu.totalBytes, uuid: uuidOf(facts, node, id) },
    busLocation: `0000:${(0x1b + id * 0x10).toString(16)}:00.0`,
    numaNode: Math.floor((2 * id) / plan.gpu.perNode),
  }));
  const capture = {
    ...{ utcEpochNs, systemClockNs: UPTIME_NS, durationNs, gpus, recording: captured },
    processes: [{ pid, device, name: facts.python, threads: Object.values(threads) }],
    systemEnvironment: [['Hostname', 619, facts.host(node)] as const, ['NvDriverVersion', 205, '580.95.05'] as const],
  };
  const rows = {
    ...eventRows(captured, strings.id, (moment) => moment),
    ...targetRows(capture, strings.id),
    ...ENUMERATIONS,
    META_DATA_CAPTURE: captureOptions(facts, attempt, rank, device, node),
    META_DATA_EXPORT: pairs({
      ...exportFacts('3.28', utcEpochNs, { EXPORT_PARAM_INPUT_FILE: `nsys_rank${rank}.nsys-rep` }),
      ...exportParameters(),
    }),
  };
  const all = { ...rows, StringIds: strings.rows() };
  return databaseSql(filledTables('3.28', all, (table) => !OMITTED.includes(table)));
}

interface Place {
  readonly pid: number;
  readonly device: number;
  readonly ns: (us: number) => number;
  readonly tid: (thread: ProfiledThread) => number;
  /** Number of a text in StringIds. */
  readonly id: (text: string) => number;
}

/** A call of the CUDA API, and what to record once its number is known. */
interface Call {
  readonly thread: ProfiledThread;
  readonly startUs: number;
  readonly endUs: number;
  readonly name: string;
  readonly isDriver?: boolean;
  readonly isRefused?: boolean;
  readonly callchain?: number;
  readonly caused: (correlation: number) => void;
}

function capturedBy(profile: ProfileRecording, { pid, device, ns, tid, id }: Place): Recording {
  const recording = emptyRecording();
  const chains = new CallChains();
  const span = ({ startUs, endUs }: { readonly startUs: number; readonly endUs: number }) => ({
    ...{ startNs: ns(startUs), endNs: ns(endUs) },
  });
  const onGpu = (work: Parameters<typeof span>[0] & { readonly stream: ProfiledStream }) => ({
    ...{ pid, device, ...span(work), stream: STREAM_NUMBERS[work.stream] },
  });
  const launchOf = ({ thread, launchUs }: { readonly thread: ProfiledThread; readonly launchUs: number }) => ({
    ...{ thread, startUs: launchUs, endUs: launchUs + LAUNCH_US },
  });
  const calls: Call[] = [
    ...profile.calls.map((call): Call => {
      const { kind, address, bytes, startUs, endUs, thread } = call;
      const isFree = kind !== 'malloc';
      const callchain = chains.of(call);
      const caused = (correlation: number): void => {
        if (address === null) return;
        const startNs = ns(startUs + MEMORY_SHARE * (endUs - startUs));
        const what = { isFree, kind: 'device', address, bytes, name: null, stream: null, pool: null } as const;
        recording.memory.push({ pid, device, startNs, correlation, ...what, pc: CallChains.address(callchain) });
      };
      const name = isFree ? 'cudaFree_v3020' : 'cudaMalloc_v3020';
      return { thread, startUs, endUs, name, isRefused: address === null, callchain, caused };
    }),
    ...profile.kernels.map((work): Call => {
      const plan = kernel(work.kernel);
      const caused = (correlation: number): void => {
        id(plan.demangledName);
        id(plan.shortName);
        recording.kernels.push({ ...onGpu(work), correlation, ...plan });
      };
      const { isDriver } = plan;
      return { ...launchOf(work), name: isDriver ? 'cuLaunchKernelEx' : 'cudaLaunchKernel_v7000', isDriver, caused };
    }),
    ...profile.copies.map((work): Call => {
      const { operation, bytes } = work;
      if (operation === 'set') {
        const caused = (correlation: number) =>
          void recording.memsets.push({ ...onGpu(work), correlation, bytes, value: 0 });
        return { ...launchOf(work), name: 'cudaMemsetAsync_v3020', caused };
      }
      const kinds =
        operation === 'host_to_device'
          ? ({ copyKind: COPY.hostToDevice, sourceKind: 'pinned', targetKind: 'device' } as const)
          : ({ copyKind: COPY.deviceToHost, sourceKind: 'device', targetKind: 'pinned' } as const);
      const more = { bytes, ...kinds, sourceDevice: null, targetDevice: null };
      const caused = (correlation: number) => void recording.copies.push({ ...onGpu(work), correlation, ...more });
      return { ...launchOf(work), name: 'cudaMemcpyAsync_v3020', caused };
    }),
    ...profile.waits.map((wait): Call => {
      const { thread, startUs, endUs } = wait;
      const caused = (correlation: number) =>
        void recording.syncs.push({ ...onGpu(wait), correlation, syncType: 3, event: 0 });
      return { thread, startUs, endUs, name: 'cudaStreamSynchronize_v3020', caused };
    }),
  ];
  for (const [i, call] of calls.toSorted((a, b) => a.startUs - b.startUs).entries()) {
    // Calls that are not traced count, too.
    const correlation = 1873 + i * 3;
    const { name, isDriver = false, isRefused = false, callchain = null } = call;
    // Texts are numbered in the order of time.
    id(name);
    const where = { pid, tid: tid(call.thread), ...span(call) };
    recording.api.push({
      ...where,
      correlation,
      name,
      returnValue: isRefused ? OUT_OF_MEMORY : 0,
      isDriver,
      callchain,
    });
    call.caused(correlation);
  }
  const range = { pid, endTid: null, rangeId: null };
  const domain = { type: NVTX.domain, startNs: -1_204_611, endNs: null, text: 'NCCL', isRegistered: false };
  recording.nvtx.push({ ...range, tid: tid('main'), ...domain, domain: DOMAINS.NCCL });
  for (const { thread, domain: name, text, startUs, endUs } of profile.ranges) {
    const times = { startNs: ns(startUs), endNs: endUs === null ? null : ns(endUs) };
    // NCCL registers its texts once.
    const what = { type: NVTX.pushPop, text, isRegistered: name !== 'default', domain: DOMAINS[name] };
    recording.nvtx.push({ ...range, tid: tid(thread), ...times, ...what });
  }
  for (const call of profile.library)
    recording.library.push({ library: 'cublas', pid, tid: tid(call.thread), ...span(call), name: call.name });
  recording.frames.push(...chains.frames);
  return recording;
}

function captureOptions(facts: RunFacts, attempt: number, rank: number, device: number, node: number) {
  const { plan, python, scriptPath } = facts;
  const job = { SLURM_JOB_ID: jobOf(facts, attempt), SLURM_NTASKS: worldSize(plan) };
  const task = { SLURM_PROCID: rank, SLURM_LOCALID: device, SLURM_NODEID: node };
  const variables = { ...plan.environment, MASTER_ADDR: facts.host(0), MASTER_PORT: 29_500, ...job, ...task };
  const collected = { COLLECT_CUDA_TRACE: 'true', COLLECT_NVTX_TRACE: 'true', COLLECT_CUBLAS_TRACE: 'true' };
  return [
    ...pairs({ 'CUDA_GRAPH_TRACE_OPTIONS:MODE': 'Graph', 'CUDA_BACKTRACE_OPTIONS:MEMORY': 'true', ...collected }),
    ...pairs({ COLLECT_GPU_MEMORY_USAGE: 'true', 'PROCESS_0:COMMAND': `${python} ${scriptPath}` }),
    ...pairs({ 'PROCESS_0:WORKING_DIR': '/nemo_run' }),
    ...Object.entries(variables).map(([key, value]) => ({
      ...{ name: 'PROCESS_0:ENVIRONMENT_VARIABLE', value: `${key}=${value}` },
    })),
  ];
}

function uuidOf(facts: RunFacts, node: number, gpu: number): string {
  const { causeName, seed } = facts.run;
  const parts = [1, 2, 3, 4].map((part) => deriveSeed(causeName, seed, 'gpu', node, gpu, part));
  const hex = parts.map((part) => part.toString(16).padStart(8, '0')).join('');
  return `GPU-${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`;
}
