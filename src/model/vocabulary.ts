/** The closed lists of words. Everything that names a cause, a component or an action takes it from here. */
import type { ENUMS } from './columns.js';

/** Why a run failed. `not_oom` and `undecided` are causes too. */
export const CAUSES = [
  'fragmentation',
  'capacity',
  'external_pressure',
  'graph_pools',
  'synchronisation',
  'leak',
  'host_oom',
  'not_oom',
  'undecided',
] as const;
export type Cause = (typeof CAUSES)[number];

/** A refinement of a cause; each belongs to exactly one. */
export const CAUSE_DETAILS = {
  split_remainder: 'fragmentation',
  other_stream: 'fragmentation',
  small_large_pool: 'fragmentation',
  page_pinning: 'fragmentation',
  oversize_rule: 'fragmentation',
  other_process: 'external_pressure',
  nccl: 'external_pressure',
  sibling_ranks: 'external_pressure',
  non_torch: 'external_pressure',
  rounding: 'capacity',
  transient_spike: 'capacity',
  imbalance: 'capacity',
  impossible_request: 'capacity',
  fraction_limit: 'capacity',
  nearly_full: 'capacity',
  whole_step: 'capacity',
  kv_cache_budget: 'capacity',
  shm: 'host_oom',
  dataloader: 'host_oom',
  cgroup: 'host_oom',
  refused_though_free: 'undecided',
} as const satisfies Record<string, Cause>;
export type CauseDetail = keyof typeof CAUSE_DETAILS;

/**
 * Whether a step like the last whole one fits. `close`: nearer to the limit than the projection is sure; `unlike`: the
 * failing step asks for other memory.
 */
export type WholeStepOutcome = 'fits' | 'close' | 'beyond' | 'unlike';

/** How sure. `proven` only if every byte is accounted for or the allocator was replayed. */
export const CONFIDENCES = ['proven', 'high', 'medium', 'low'] as const;
export type Confidence = (typeof CONFIDENCES)[number];

/** Kinds of failure lines. See {@link isOomKind} for which of them are memory failures. */
export const INCIDENT_KINDS = [
  'cuda_oom',
  'cuda_oom_driver',
  'cuda_oom_graph_capture',
  'hip_oom',
  'xpu_oom',
  'npu_oom',
  'hpu_oom',
  'mps_oom',
  'jax_oom',
  'tf_oom',
  'nccl_oom',
  'nccl_not_oom',
  'nccl_unknown',
  'cublas',
  'cublas_not_oom',
  'cudnn',
  'cudnn_unknown',
  'host_oom',
  'shm_oom',
  'dataloader_worker_killed',
  'kv_cache_budget',
  'shared_mem_not_oom',
  'illegal_access_not_oom',
  'illegal_access_near_oom',
  'nvml_assert_in_oom_path',
  'negative_text',
  'not_oom',
  'config_error',
  'timeout',
  'connection_lost',
  'hardware',
  'time_limit',
  'cancelled',
  'preempted',
  'killed',
  'other',
] as const;
export type IncidentKind = (typeof INCIDENT_KINDS)[number];

const NOT_MEMORY: ReadonlySet<IncidentKind> = new Set<IncidentKind>([
  'nccl_unknown',
  'cudnn_unknown',
  'illegal_access_near_oom',
  'negative_text',
  'dataloader_worker_killed',
  'config_error',
  'timeout',
  'connection_lost',
  'hardware',
  'time_limit',
  'cancelled',
  'preempted',
  'killed',
  'other',
]);

/** Whether a failure of this kind is a memory failure. Follows from the kind alone, never from the text again. */
export function isOomKind(kind: IncidentKind): boolean {
  return !kind.endsWith('not_oom') && !NOT_MEMORY.has(kind);
}

/** What bytes are for. */
export const COMPONENTS = [
  'parameter',
  'gradient',
  'optimizer_state',
  'activation',
  'logits_loss',
  'recompute',
  'communication',
  'moe_dispatch',
  'workspace',
  'graph_pool',
  'fp8_buffer',
  'offload_buffer',
  'checkpoint',
  'kv_cache',
  'input',
  'temporary',
  'before_recording',
  'unattributed',
] as const;
export type Component = (typeof COMPONENTS)[number];

/** Components in the order in which pictures stack them, the lowest first: the long-lived ones are at the bottom. */
export const STACKING_ORDER: readonly Component[] = [
  'parameter',
  'optimizer_state',
  'gradient',
  'before_recording',
  'graph_pool',
  'kv_cache',
  'fp8_buffer',
  'offload_buffer',
  'communication',
  'moe_dispatch',
  'workspace',
  'checkpoint',
  'input',
  'activation',
  'logits_loss',
  'recompute',
  'temporary',
  'unattributed',
];

export type TraceAction = (typeof ENUMS)['trace_action'][number];
export type BlockState = (typeof ENUMS)['block_state'][number];

/**
 * Why a memory snapshot was dumped: by an OOM observer, by the handler of another failure, as one of a series, or once
 * by a call somewhere in the run.
 */
export type DumpTrigger = 'oom' | 'failure' | 'periodic' | 'manual';

/** What became of one file. */
export type SourceStatus = 'ingested' | 'unchanged' | 'failed' | 'skipped';

export type ProfilerCategory = (typeof ENUMS)['profiler_category'][number];

/** Input formats this version knows; the ids of the parsers, and of what is recognised but not read. */
export const FORMATS = [
  'torch-snapshot',
  'profiler-timeline',
  'nsys',
  'tensorboard',
  'wandb',
  'scalars',
  'device-monitor',
  'slurm-accounting',
  'kubernetes-events',
  'log',
  'config',
] as const;
export type Format = (typeof FORMATS)[number];
/**
 * Records of a program about its own training, in addition to its log; they repeat the iterations of the log. The same
 * as in `queries/_log/metrics-sources.sql`.
 */
export const METRICS_FORMATS = ['tensorboard', 'wandb', 'scalars'] as const satisfies readonly Format[];
