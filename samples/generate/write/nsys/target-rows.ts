/** What was captured, when and where, and how it was exported: everything of a report but the events. */
import { deriveSeed } from '../../simulate/random.js';
import type { RunFacts } from '../run-facts.js';
import { jobOf, worldSize } from '../run-facts.js';
import type { NsysRows, Row } from './tables.js';

/** Identifies the machine in every serialized id. */
const VM = 2 ** 48;
export const globalPidOf = (pid: number): number => VM + pid * 2 ** 24;

export interface TargetContext {
  readonly facts: RunFacts;
  readonly attempt: number;
  readonly rank: number;
  readonly node: number;
  readonly device: number;
  readonly pid: number;
  readonly utcEpochNs: bigint;
  readonly durationNs: number;
  readonly threadNames: readonly (readonly [tid: number, name: string])[];
  id(text: string): number;
}

/** What it was launched with, as {@link launchScript} has it. */
export const PROFILE_OPTIONS = [
  '--trace=cuda,nvtx,cublas',
  '--sample=none',
  '--cpuctxsw=none',
  '--cuda-memory-usage=true',
  '--cudabacktrace=memory',
] as const;
/** Since the machine's start, at the start of the collection. */
const UPTIME_NS = 9_250_117_402_316_118;

export function targetRows(context: TargetContext): NsysRows {
  const { facts, attempt, rank, node, device, pid, utcEpochNs, durationNs, threadNames, id } = context;
  const { plan } = facts;
  const utc = isoTime(utcEpochNs);
  const environment = (name: string, nameEnum: number, value: string): Row => ({
    globalVid: VM,
    devStateName: 'Local (CLI)',
    name,
    nameEnum,
    value,
  });
  const gpus = Array.from({ length: Math.min(plan.gpu.perNode, worldSize(plan)) }, (_, gpu) => ({
    gpu,
    uuid: uuidOf(facts, node, gpu),
  }));
  const onContext = { hwId: 0, vmId: 1, processId: pid, deviceId: device, contextId: 1 };
  return {
    TARGET_INFO_SYSTEM_ENV: [
      environment('Hostname', 619, facts.host(node)),
      environment('NvDriverVersion', 205, '580.95.05'),
    ],
    TARGET_INFO_SESSION_START_TIME: [
      { utcEpochNs, utcTime: utc, localTime: utc, systemClockNs: UPTIME_NS, sessionStartCntVctNs: UPTIME_NS + 17 },
    ],
    ANALYSIS_DETAILS: [{ globalVid: VM, duration: durationNs, startTime: UPTIME_NS, stopTime: UPTIME_NS + durationNs }],
    PROCESSES: [{ globalPid: globalPidOf(pid), pid, name: facts.python }],
    ThreadNames: threadNames.map(([tid, name]) => ({
      nameId: id(name),
      priority: 20,
      globalTid: globalPidOf(pid) + tid,
    })),
    TARGET_INFO_GPU: gpus.map(({ gpu, uuid }) => ({
      vmId: VM,
      id: gpu,
      name: plan.gpu.name,
      busLocation: `0000:${(0x1b + gpu * 0x10).toString(16)}:00.0`,
      isDiscrete: 1,
      totalMemory: plan.gpu.totalBytes,
      smCount: 132,
      pwGpuId: gpu,
      uuid,
      chipName: 'GH100',
      cuDevice: gpu,
      threadsPerWarp: 32,
      computeMajor: 9,
      computeMinor: 0,
      numaNodeId: Math.floor((2 * gpu) / plan.gpu.perNode),
    })),
    TARGET_INFO_CUDA_DEVICE: gpus.map(({ gpu, uuid }) => ({
      gpuId: gpu,
      cudaId: gpu,
      pid,
      uuid,
      numMultiprocessors: 132,
    })),
    TARGET_INFO_CUDA_CONTEXT_INFO: [{ nullStreamId: 7, ...onContext, parentContextId: 0, isGreenContext: 0 }],
    DIAGNOSTIC_EVENT: diagnostics(pid, durationNs),
    META_DATA_CAPTURE: captureRows(context),
    META_DATA_EXPORT: exportRows(utcEpochNs, rank),
    ...ENUMERATIONS,
  };

  function captureRows({ node: own }: TargetContext): Row[] {
    const job = { SLURM_JOB_ID: jobOf(facts, attempt), SLURM_NTASKS: worldSize(plan) };
    const task = { SLURM_PROCID: rank, SLURM_LOCALID: device, SLURM_NODEID: own };
    const variables = { ...plan.environment, MASTER_ADDR: facts.host(0), MASTER_PORT: 29_500, ...job, ...task };
    const words = [facts.python, facts.scriptPath].join(' ');
    return [
      ['CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Graph'],
      ['CUDA_BACKTRACE_OPTIONS:MEMORY', 'true'],
      ['COLLECT_CUDA_TRACE', 'true'],
      ['COLLECT_NVTX_TRACE', 'true'],
      ['COLLECT_CUBLAS_TRACE', 'true'],
      ['COLLECT_GPU_MEMORY_USAGE', 'true'],
      ['PROCESS_0:COMMAND', words],
      ['PROCESS_0:WORKING_DIR', '/nemo_run'],
      ...Object.entries(variables).map(([key, value]) => ['PROCESS_0:ENVIRONMENT_VARIABLE', `${key}=${value}`]),
    ].map(([name = '', value = '']) => ({ name, value }));
  }
}

function isoTime(ns: bigint): string {
  return new Date(Number(ns / 1_000_000n)).toISOString().slice(0, 19);
}

function uuidOf(facts: RunFacts, node: number, gpu: number): string {
  const hex = [1, 2, 3, 4]
    .map((part) =>
      deriveSeed(facts.run.causeName, facts.run.seed, 'gpu', node, gpu, part).toString(16).padStart(8, '0'),
    )
    .join('');
  return `GPU-${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`;
}

function diagnostics(pid: number, durationNs: number): Row[] {
  const say = (timestamp: number, severity: number, text: string): Row => ({
    timestamp,
    timestampType: 2,
    source: 3,
    severity,
    text,
    globalPid: globalPidOf(pid),
  });
  return [
    say(0, 1, 'Profiling has started.'),
    say(31_117_904, 1, `Process ${pid} was launched by the profiler.`),
    say(18_204_551_030, 1, 'NVTX injection initialized successfully.'),
    say(18_911_460_218, 1, 'CUDA injection initialized successfully.'),
    say(durationNs, 1, 'Profiling has stopped.'),
  ];
}

function exportRows(utcEpochNs: bigint, rank: number): Row[] {
  const exported = isoTime(utcEpochNs + 3_600_000_000_000n);
  const facts = {
    EXPORT_PRODUCT_NAME: 'NVIDIA Nsight Systems',
    EXPORT_PRODUCT_VERSION: '2026.4.1.100',
    EXPORT_SCHEMA_VERSION: '3.28.1',
    EXPORT_SCHEMA_VERSION_MAJOR: '3',
    EXPORT_SCHEMA_VERSION_MINOR: '28',
    EXPORT_SCHEMA_VERSION_MICRO: '1',
    EXPORT_PLATFORM: 'linux-desktop',
    EXPORT_TIME_UTC: exported,
    EXPORT_PARAM_INPUT_FILE: `nsys_rank${rank}.nsys-rep`,
    EXPORT_PARAM_LAZY: 'true',
    EXPORT_PARAM_TIME_NORMALIZE: 'false',
    EXPORT_PARAM_TIME_SHIFT: '0',
    EXPORT_PARAM_TABLES_TO_EXPORT: '',
    EXPORT_PARAM_TIMES_TO_EXPORT: '',
  };
  return Object.entries(facts).map(([name, value]) => ({ name, value }));
}

/** Labels of documented numbers. */
const enumeration = (labels: Readonly<Record<number, string>>): Row[] =>
  Object.entries(labels).map(([id, label]) => ({
    id: Number(id),
    name: label.toUpperCase().replaceAll(/[^A-Z]/g, '_'),
    label,
  }));
const listed = (labels: readonly string[]): Row[] => enumeration({ ...labels });
const MEMORY_KINDS = ['Pageable', 'Pinned', 'Device', 'Array', 'Managed', 'Device Static', 'Managed Static', 'Unknown'];

const ENUMERATIONS: NsysRows = {
  ENUM_NSYS_EVENT_TYPE: enumeration({
    34: 'NVTX mark',
    59: 'NVTX push/pop range',
    60: 'NVTX start/end range',
    75: 'NVTX domain create',
  }),
  ENUM_CUDA_MEMCPY_OPER: enumeration({ 1: 'Host-to-Device', 2: 'Device-to-Host', 8: 'Device-to-Device' }),
  ENUM_CUDA_MEM_KIND: listed(MEMORY_KINDS),
  ENUM_CUDA_DEV_MEM_EVENT_OPER: listed(['Allocation', 'Deallocation']),
  ENUM_CUPTI_SYNC_TYPE: listed(['Unknown', 'Event sync', 'Stream wait sync', 'Stream sync', 'Context sync']),
  ENUM_DIAGNOSTIC_SEVERITY_LEVEL: listed(['Unknown', 'Info', 'Warning', 'Error']),
};
