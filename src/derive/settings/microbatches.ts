/** Micro-batches of a step, and what interleaved pipeline stages ask of their number. */
import type { Tri } from './condition.js';
import type { FactsView, Looked } from './facts.js';
import { asNumber } from './values.js';
import { compareVersions } from './versions.js';

const SIZES = [
  'virtual_pipeline_model_parallel_size',
  'pipeline_model_parallel_size',
  'global_batch_size',
  'micro_batch_size',
  'data_parallel_size',
] as const;

/**
 * The interleaved schedule runs groups of micro-batches, each as large as PP unless
 * microbatch_group_size_per_vp_stage sets another size. Before core 0.10 their number must be a multiple of PP. A batch
 * that ramps up is left undecided; one that is not a whole number of micro-batches is the rule `batch-div`. Upstream:
 * Megatron-LM megatron/core/pipeline_parallel/schedules.py forward_backward_pipelining_with_interleaving.
 */
export function microbatchesUninterleavable(view: FactsView): readonly [Tri, ...Looked[]] {
  const facts = SIZES.map((key) => view.setting(key));
  const [vpp, pp] = facts;
  for (const stages of [vpp!, pp!])
    if (stages.by !== 'unknown' && (asNumber(stages.value) ?? 1) <= 1) return [false, stages];
  const ramp = view.setting('rampup_batch_size');
  if (ramp.by === 'told' && ramp.value !== null) return [false, ramp];
  const unknown = facts.filter(({ by }) => by === 'unknown');
  if (unknown.length > 0) return [null, ...facts];
  const [, stages, global, micro, replicas] = facts.map(({ value }) => asNumber(value));
  if (stages == null || global == null || !micro || !replicas) return [false, ...facts];
  const count = global / (micro * replicas);
  if (!Number.isInteger(count)) return [false, ...facts];
  const core = view.facts.versions.megatron_core ?? null;
  if (core !== null && compareVersions(core, '0.10') < 0) return [count % stages !== 0, ...facts];
  const grouped = view.setting('microbatch_group_size_per_vp_stage');
  const group = asNumber(grouped.value) ?? stages;
  const remainder = count % group;
  return [
    group > count || group < stages || (remainder > 0 && remainder < stages),
    ...facts,
    ...(grouped.by === 'told' ? [grouped] : []),
  ];
}
