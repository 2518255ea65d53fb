/** Verdicts from the kind of a failure line alone: failures without figures of the caching allocator. */
import type { IncidentKind } from '../../../model/vocabulary.js';
import { isOomKind } from '../../../model/vocabulary.js';
import { hostVerdict, SHARED_MEMORY } from './host-oom.js';
import type { KindVerdict } from './kind-verdict.js';
import { NOT_OOM, NOT_OOM_BY_KIND } from './not-oom.js';
import { DRIVER, FIGURES_LOST, FOREIGN, LIBRARY } from './undecided.js';

export type { KindVerdict } from './kind-verdict.js';

/** NCCL's own allocation failed. It is always outside PyTorch, but the line does not print how much memory was free. */
const NCCL: KindVerdict = {
  cause: 'external_pressure',
  detail: 'nccl',
  confidence: 'medium',
  summary: "NCCL's own buffers did not fit beside PyTorch's reserve",
  missing: ['how much PyTorch had reserved then (a snapshot, or a memory line of that rank)'],
  next: ['leave NCCL headroom: fewer communicators or channels, or a memory fraction below 1 for PyTorch'],
  capture: 'nccl_memory',
};

/** Inference engines compute before they serve what is left for the cache, and print it. */
const KV_CACHE: KindVerdict = {
  cause: 'capacity',
  detail: 'kv_cache_budget',
  confidence: 'high',
  summary: 'weights and activations leave nothing of the memory budget for the KV cache',
  missing: [],
  next: ['raise the engine’s memory utilization setting, or shorten the context'],
};

/** A capture in progress may neither flush nor wait; the message does not print what its pool holds. */
const GRAPH_CAPTURE: KindVerdict = {
  cause: 'graph_pools',
  detail: null,
  confidence: 'low',
  summary: 'memory ran out while a CUDA graph was captured; the message does not say how much its pool holds',
  missing: ['what the graph pools hold: a memory snapshot'],
  next: ['capture fewer or smaller graphs, or leave them more headroom'],
  capture: 'snapshot_at_oom',
};

/** Kinds whose lines never carry the allocator's figures. Kinds that do are judged by their numbers. */
const BY_KIND: Partial<Record<IncidentKind, KindVerdict>> = {
  ...NOT_OOM_BY_KIND,
  cuda_oom_driver: DRIVER,
  cublas: LIBRARY,
  cudnn: LIBRARY,
  nvml_assert_in_oom_path: FIGURES_LOST,
  jax_oom: FOREIGN,
  tf_oom: FOREIGN,
  hpu_oom: FOREIGN,
  nccl_oom: NCCL,
  kv_cache_budget: KV_CACHE,
  shm_oom: SHARED_MEMORY,
};

/** The verdict of a kind where its figures decide nothing. */
export function fallbackOfKind(kind: IncidentKind): KindVerdict | undefined {
  return kind === 'cuda_oom_graph_capture' ? GRAPH_CAPTURE : undefined;
}

/** `text` is the failure line; for host memory its words show which limit was reached. */
export function verdictOfKind(kind: IncidentKind, text = ''): KindVerdict | undefined {
  if (kind === 'host_oom') return hostVerdict(text);
  const known = BY_KIND[kind];
  if (known !== undefined) return known;
  return isOomKind(kind) ? undefined : NOT_OOM;
}
