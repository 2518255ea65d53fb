/** Communication that takes long: of many replicas, of rings over the sequence, during offloading. */

import { asNumber, isOn } from '../../derive/settings/values.js';
import { compareVersions } from '../../derive/settings/versions.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxBy, maxOf, sumOf } from '../../model/lists.js';
import { speedAgainst } from './baseline.js';
import type { SymptomEvidence, Timer } from './evidence.js';
import { cpOf, dpOf, ppOf, tpOf } from './sizes.js';
import { fact, factOf, factsOf, placeOfFacts, type Sighting, type SymptomRule, share } from './symptom.js';

const AT_SCALE = threshold('symptoms_collectives.at_scale');
const LONG_RING = threshold('symptoms_collectives.long_ring');
const SLOW_SHARE = threshold('symptoms_collectives.slow_share');
const SMALL_NS = threshold('symptoms_collectives.small_ns');
const LARGE_NS = threshold('symptoms_collectives.large_ns');
const BUCKET_ELEMENTS = threshold('symptoms_collectives.bucket_elements');
const CP_SLOWER = threshold('symptoms_collectives.cp_slower');
const RING_EXPOSED = threshold('symptoms_collectives.ring_exposed');
const RING_HIDDEN = threshold('symptoms_collectives.ring_hidden');
const USUAL_NODE = threshold('symptoms_collectives.usual_node');
const SLOW_NETWORK = threshold('symptoms_collectives.slow_network');
const HIDDEN_NETWORK = threshold('symptoms_collectives.hidden_network');

interface SlowReduction extends Omit<Sighting, 'answer'> {
  /** Null: timers do not show single collectives. */
  readonly medianNs: number | null;
}

/** Of exports only if the collectives of data parallelism do not include those of tensor parallelism. */
function slowReduction(evidence: SymptomEvidence): SlowReduction | null {
  const { timelines, timers, own } = evidence;
  if (tpOf(evidence) === 1) {
    const slow = timelines.filter(
      ({ steps, collectives, window_ns }) => steps > 0 && collectives.exposed_ns >= SLOW_SHARE * window_ns,
    );
    const most = maxBy(slow, ({ collectives, window_ns }) => share(collectives.exposed_ns, window_ns));
    if (most !== undefined) {
      const figures = { exposed: most.collectives.exposed_ns / most.window_ns };
      return { source: most.path, medianNs: most.collective_kernels.median_ns, figures };
    }
  }
  // Megatron's timers of these wait for the collectives to end: the overlapped part is not included.
  const syncTimers = timers.filter(({ name }) => /^(?:all-grads-sync|params-all-gather)\.(?:max_)?ms$/.test(name));
  const slowest = new Map<string, Timer>();
  for (const timer of syncTimers) if (timer.ms > (slowest.get(timer.name)?.ms ?? -1)) slowest.set(timer.name, timer);
  const sum = sumOf([...slowest.values()].map(({ ms }) => ms));
  if (own.steps === null || sum < SLOW_SHARE * own.steps.median_ms || syncTimers[0] === undefined) return null;
  const names = [...slowest.values()].map(({ name, ms }) => fact('timer', { name: name.replace(/\.\w+$/, ''), ms }));
  const figures = { timers: names, step_ms: own.steps.median_ms };
  return { source: syncTimers[0].source, medianNs: null, figures };
}

/** Sends of the ring without overlapping computation, as a share of a step; pipelines send and receive too. */
function exposedRing(evidence: SymptomEvidence): number | null {
  const stepped = ppOf(evidence) === 1 ? evidence.timelines.filter(({ steps }) => steps > 0) : [];
  if (stepped.length === 0) return null;
  return maxOf(stepped.map(({ sends, window_ns }) => share(sends.exposed_ns, window_ns)));
}

export const COLLECTIVE_RULES: Readonly<Record<string, SymptomRule>> = {
  S24: (evidence) => {
    const { view } = evidence;
    const dp = dpOf(evidence);
    const slow = dp === null || dp < AT_SCALE ? null : slowReduction(evidence);
    if (dp === null || slow === null) return null;
    const { source, medianNs } = slow;
    const bucket = view.setting('bucket_size');
    const instances = view.setting('num_distributed_optimizer_instances');
    const precise = view.setting('grad_reduce_in_fp32');
    const elements = asNumber(bucket.value);
    const isSmall = medianNs !== null && medianNs < SMALL_NS;
    const isBucketSmall = elements !== null && elements < BUCKET_ELEMENTS && ppOf(evidence) === 1;
    const isRing = dp >= LONG_RING && (asNumber(instances.value) ?? 1) === 1;
    const isLarge = medianNs !== null && medianNs >= LARGE_NS && precise.by !== 'unknown';
    return {
      source,
      answer:
        isSmall || isBucketSmall || isRing || isOn(precise.value) ? 'reasons' : isLarge ? 'large' : 'sizes_unknown',
      figures: {
        ...{ ...slow.figures, dp, untimed: medianNs === null, median_ms: (medianNs ?? 0) / 1e6 },
        small_us: isSmall ? medianNs / 1000 : null,
        bucket: isBucketSmall ? factOf(bucket) : null,
        ...(isRing ? { ring_ranks: dp, instances: instances.value } : {}),
        ...{ precise: isOn(precise.value), precision: factOf(precise) },
        facts: factsOf([bucket, instances, precise]),
      },
    };
  },

  S27: (evidence) => {
    const cp = cpOf(evidence);
    if (cp === null || cp < 2) return null;
    const sequence = evidence.view.setting('seq_length');
    const hidden = evidence.view.setting('hidden_size');
    const [s, h] = [asNumber(sequence.value), asNumber(hidden.value)];
    const before = evidence.baseline?.measured.parallel.cp ?? null;
    // A different CP is offset by data parallelism, and changes what is in flight.
    const pair =
      before === null || before >= cp ? null : speedAgainst(evidence, ['context_parallel_size', 'data_parallel_size']);
    const isSlower = pair !== null && pair.speed < 1 - CP_SLOWER;
    if (!isSlower && (s === null || h === null || s >= h)) return null;
    const exposed = exposedRing(evidence);
    const isShort = s !== null && h !== null && s / cp < h;
    return {
      source: isSlower ? (evidence.steps_source ?? '') : placeOfFacts([sequence, hidden]),
      answer:
        exposed !== null && exposed >= RING_EXPOSED
          ? 'short'
          : !isSlower
            ? pair === null
              ? 'not_compared'
              : 'not_slower'
            : pair.isMixed
              ? 'more_changed'
              : isShort
                ? 'short'
                : exposed !== null && exposed < RING_HIDDEN
                  ? 'hidden'
                  : 'exposed_unknown',
      figures: {
        ...{ ...pair?.figures, is_slower: isSlower, cp, cp_before: before, exposed },
        ...{ sequence: factOf(sequence), hidden: factOf(hidden) },
        ...(s === null || h === null ? {} : { chunk: Math.round(s / cp), width: h }),
      },
    };
  },

  S29: (evidence) => {
    const { view, world_size: world } = evidence;
    const offload = ['cpu_offloading', 'fine_grained_activation_offloading']
      .map((key) => view.setting(key))
      .find(({ value }) => isOn(value));
    const node =
      asNumber(view.setting('nproc_per_node').value) ?? asNumber(view.setting('gpus_per_node').value) ?? USUAL_NODE;
    if (offload === undefined || world === null || world <= node) return null;
    const version = view.version('nccl').value;
    const isNew = version === null ? null : compareVersions(version, '2.26') >= 0;
    const level = view.env('NCCL_NET_GDR_LEVEL');
    const direct = view.env('NCCL_NET_GDR_C2C');
    const isSet = (isNew !== true && level.value === 'PHB') || (isNew !== false && direct.value === '1');
    const asked = isNew === null ? [level, direct] : isNew ? [direct] : [level];
    const isUnknown = asked.some(({ by }) => by === 'unknown');
    const steps = evidence.timelines.filter((timeline) => timeline.steps > 0);
    const exposed = steps.map(({ collectives, sends, other, window_ns }) =>
      share(collectives.exposed_ns + sends.exposed_ns + other.exposed_ns, window_ns),
    );
    const most = exposed.length === 0 ? null : maxOf(exposed);
    const isSlow = most !== null && most >= SLOW_NETWORK;
    // Without a measurement, only a variable that is known to be missing is reported.
    if (!isSlow && (isSet || isUnknown)) return null;
    const unproven = most !== null && most < HIDDEN_NETWORK ? 'not_slow' : 'unmeasured';
    return {
      source: steps[0]?.path ?? placeOfFacts([offload, ...asked]),
      answer: !isSlow ? unproven : isSet ? 'set' : isNew === null || isUnknown ? 'variables_unknown' : 'unset',
      figures: { exposed: most, offload: factOf(offload), world, version, variables: factsOf(asked) },
    };
  },
};
