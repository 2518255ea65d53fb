/** Verdicts that follow from the kind of a failure line alone: failures that carry no figures of the caching allocator. */
import type { Cause, CauseDetail, Confidence, IncidentKind } from '../../model/vocabulary.js';
import { isOomKind } from '../../model/vocabulary.js';

export interface KindVerdict {
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly confidence: Confidence;
  readonly summary: string;
  readonly missing: readonly string[];
  readonly next: readonly string[];
}

const DRIVER: KindVerdict = {
  cause: 'undecided',
  detail: null,
  confidence: 'low',
  summary: 'an allocation outside the caching allocator failed; such a line carries no figures and decides nothing',
  missing: ['the memory use of the whole device at that moment (nvidia-smi), or a full OOM message of another rank'],
  next: ['look for an earlier OOM message of any rank on that host; check for other processes with nvidia-smi'],
};

const LIBRARY: KindVerdict = {
  ...DRIVER,
  summary: 'a CUDA library failed to set itself up: often, but not always, because the device is full',
};

const FOREIGN: KindVerdict = {
  ...DRIVER,
  summary: "another framework's allocator ran out; this version does not read its figures",
  missing: ['the figures of that allocator'],
  next: [],
};

/** Failures that are no memory matter, each with what it asks for. */
const NOT_MEMORY: Omit<KindVerdict, 'summary'> = {
  cause: 'not_oom',
  detail: null,
  confidence: 'high',
  missing: [],
  next: [],
};
const OTHERS_LOGS = ['the logs of all ranks: the one that failed first names its cause, the others only waited for it'];

/** Kinds whose lines never carry the allocator's figures. Kinds that do are judged by their numbers. */
const BY_KIND: Partial<Record<IncidentKind, KindVerdict>> = {
  cuda_oom_driver: DRIVER,
  cublas: LIBRARY,
  cudnn: LIBRARY,
  nvml_assert_in_oom_path: {
    ...DRIVER,
    summary:
      'an assertion failed while an OOM message was being written: the device was out of memory, the figures are lost',
  },
  jax_oom: FOREIGN,
  tf_oom: FOREIGN,
  hpu_oom: FOREIGN,
  nccl_oom: {
    cause: 'external_pressure',
    detail: 'nccl',
    confidence: 'medium',
    summary: "NCCL's own buffers did not fit beside PyTorch's reserve",
    missing: ['how much PyTorch had reserved then (a snapshot, or a memory line of that rank)'],
    next: ['leave NCCL headroom: fewer communicators or channels, or a memory fraction below 1 for PyTorch'],
  },
  kv_cache_budget: {
    cause: 'capacity',
    detail: 'kv_cache_budget',
    confidence: 'high',
    summary: 'weights and activations leave nothing of the memory budget for the KV cache',
    missing: [],
    next: ['raise the engine’s memory utilization setting, or shorten the context'],
  },
  host_oom: {
    cause: 'host_oom',
    detail: null,
    confidence: 'high',
    summary: 'host memory ran out, not the device',
    missing: ['which process grew (dmesg, cgroup statistics, per-process RSS over time)'],
    next: ['raise the job’s memory request, or lower data-loader workers, pinned buffers and checkpoint staging'],
  },
  config_error: {
    ...NOT_MEMORY,
    summary: 'the configuration was refused: not a memory failure',
    next: ['change the setting that the message names'],
  },
  timeout: {
    ...NOT_MEMORY,
    summary: 'a collective timed out: some rank did not come, and nothing read here says why',
    missing: OTHERS_LOGS,
    next: ['look for the rank that printed last, and for what it printed'],
  },
  connection_lost: {
    ...NOT_MEMORY,
    summary: 'a connection to another rank was lost: that rank had ended, and nothing read here says why',
    missing: OTHERS_LOGS,
    next: ['look for the rank that ended first'],
  },
  hardware: {
    ...NOT_MEMORY,
    summary: 'the device, its memory or its link failed',
    next: ['take the node out and run its diagnostics (nvidia-smi -q, dcgmi diag)'],
  },
  time_limit: {
    ...NOT_MEMORY,
    summary: 'the job reached its time limit: it was ended, it did not fail',
    next: ['resume from the last checkpoint'],
  },
  shm_oom: {
    cause: 'host_oom',
    detail: 'shm',
    confidence: 'high',
    summary: 'shared memory (/dev/shm) ran out, not the device',
    missing: [],
    next: ['enlarge /dev/shm (docker --shm-size, an emptyDir of medium Memory), or lower data-loader workers'],
  },
};

/** What a kind says of itself where its figures decide nothing. */
export function fallbackOfKind(kind: IncidentKind): KindVerdict | undefined {
  if (kind !== 'cuda_oom_graph_capture') return undefined;
  return {
    cause: 'graph_pools',
    detail: null,
    confidence: 'low',
    summary: 'memory ran out while a CUDA graph was captured; the message does not say how much its pool holds',
    missing: ['what the graph pools hold: a memory snapshot'],
    next: ['capture fewer or smaller graphs, or leave them more headroom'],
  };
}

export function verdictOfKind(kind: IncidentKind): KindVerdict | undefined {
  const known = BY_KIND[kind];
  if (known !== undefined) return known;
  if (isOomKind(kind)) return undefined;
  return {
    cause: 'not_oom',
    detail: null,
    confidence: 'high',
    summary: 'the run failed, but not for want of memory',
    missing: [],
    next: [],
  };
}
