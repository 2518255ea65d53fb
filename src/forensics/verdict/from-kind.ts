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
