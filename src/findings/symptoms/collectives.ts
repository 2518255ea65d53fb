/** Communication that takes long: of many replicas, of rings over the sequence, during offloading. */

import type { Looked } from '../../derive/settings/facts.js';
import { asNumber, isOn } from '../../derive/settings/values.js';
import { compareVersions } from '../../derive/settings/versions.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf } from '../../model/lists.js';
import { formatCount } from '../../model/units.js';
import { speedAgainst } from './baseline.js';
import type { SymptomEvidence } from './evidence.js';
import { cpOf, dpOf, ppOf, tpOf } from './sizes.js';
import { CAPTURE } from './speed.js';
import { confirmed, type Judged, refuted, type Symptom, symptom, untested } from './symptom.js';
import { factsText, factText, list, percent, placeOfFacts, share } from './words.js';

const AT_SCALE = threshold('symptoms_collectives.at_scale');
const LONG_RING = threshold('symptoms_collectives.long_ring');
const SLOW_SHARE = threshold('symptoms_collectives.slow_share');
const SMALL_NS = threshold('symptoms_collectives.small_ns');
const LARGE_NS = threshold('symptoms_collectives.large_ns');
const BUCKET_ELEMENTS = threshold('symptoms_collectives.bucket_elements');

interface SlowReduction {
  readonly text: string;
  readonly source: string;
  /** Null: timers do not show single collectives. */
  readonly median_ns: number | null;
}

/** Of exports only if the collectives of data parallelism do not include those of tensor parallelism. */
function slowReduction(evidence: SymptomEvidence): SlowReduction | null {
  const { timelines, timers, own } = evidence;
  if (tpOf(evidence) === 1) {
    const [most] = timelines
      .filter(({ steps, collectives, window_ns }) => steps > 0 && collectives.exposed_ns >= SLOW_SHARE * window_ns)
      .toSorted((a, b) => share(b.collectives.exposed_ns, b.window_ns) - share(a.collectives.exposed_ns, a.window_ns));
    if (most !== undefined)
      return {
        text: `collectives without overlapping computation take ${percent(most.collectives.exposed_ns / most.window_ns)} of a step`,
        source: most.path,
        median_ns: most.collective_kernels.median_ns,
      };
  }
  // Megatron's timers of these wait for the collectives to end: the overlapped part is not included.
  const syncTimers = timers.filter(({ name }) => /^(?:all-grads-sync|params-all-gather)\.(?:max_)?ms$/.test(name));
  const slowest = new Map<string, (typeof syncTimers)[number]>();
  for (const timer of syncTimers) if (timer.ms > (slowest.get(timer.name)?.ms ?? -1)) slowest.set(timer.name, timer);
  const sum = [...slowest.values()].reduce((ms, timer) => ms + timer.ms, 0);
  if (own.steps === null || sum < SLOW_SHARE * own.steps.median_ms || syncTimers[0] === undefined) return null;
  const names = [...slowest.values()].map(({ name, ms }) => `${name.replace(/\.\w+$/, '')} ${ms.toFixed(1)} ms`);
  return {
    text: `${list(names)} of a step of ${own.steps.median_ms.toFixed(1)} ms`,
    source: syncTimers[0].source,
    median_ns: null,
  };
}

export const S24: Symptom = symptom('S24', (evidence) => {
  const dp = dpOf(evidence);
  const slow = dp === null || dp < AT_SCALE ? null : slowReduction(evidence);
  if (dp === null || slow === null) return null;
  return { seen: `${slow.text}, at DP ${dp}`, source: slow.source, ...whySlow(evidence, dp, slow.median_ns) };
});

function whySlow(evidence: SymptomEvidence, dp: number, medianNs: number | null): Judged {
  const { view } = evidence;
  const [bucket, instances, precise] = [
    'bucket_size',
    'num_distributed_optimizer_instances',
    'grad_reduce_in_fp32',
  ].map((key) => view.setting(key)) as [Looked, Looked, Looked];
  const elements = asNumber(bucket.value);
  const reasons: string[] = [];
  if (medianNs !== null && medianNs < SMALL_NS)
    reasons.push(`messages are small: half of the collectives take less than ${(medianNs / 1000).toFixed(0)} µs`);
  if (elements !== null && elements < BUCKET_ELEMENTS && ppOf(evidence) === 1)
    reasons.push(`buckets are small: ${factText(bucket)} elements`);
  if (dp >= LONG_RING && (asNumber(instances.value) ?? 1) === 1)
    reasons.push(
      `one ring over ${formatCount(dp)} replicas (num_distributed_optimizer_instances ${instances.value ?? 'not set'})`,
    );
  if (isOn(precise.value)) reasons.push(`gradients are reduced in full precision: ${factText(precise)}`);
  if (reasons.length > 0) return confirmed(reasons.join('; '));
  if (medianNs !== null && medianNs >= LARGE_NS && precise.by !== 'unknown')
    return refuted(
      `messages are large (half of the collectives take ${(medianNs / 1e6).toFixed(1)} ms or more), DP ${dp} is not a long ring, ${factText(precise)}`,
    );
  return untested(
    `sizes of the messages are not known${medianNs === null ? `: ${CAPTURE}` : ''}; what was read names none of the causes (${factsText([bucket, instances, precise])})`,
  );
}

// ---- S27 -----------------------------------------------------------------------------------------

const CP_SLOWER = threshold('symptoms_collectives.cp_slower');
const RING_EXPOSED = threshold('symptoms_collectives.ring_exposed');
const RING_HIDDEN = threshold('symptoms_collectives.ring_hidden');

export const S27: Symptom = symptom('S27', (evidence) => {
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
  const isSkinny = s !== null && h !== null && s < h;
  if (!isSlower && !isSkinny) return null;
  const sizes = `CP ${cp}, ${factText(sequence)}, ${factText(hidden)}`;
  return {
    seen: isSlower
      ? `${pair.text}, from CP ${before} to CP ${cp}`
      : `${sizes}: the sequence is shorter than the hidden size`,
    source: isSlower ? (evidence.steps_source ?? '') : placeOfFacts([sequence, hidden]),
    ...chunksAreShort(evidence, { cp, s, h }, isSlower, pair?.others ?? [], pair !== null),
  };
});

function chunksAreShort(
  evidence: SymptomEvidence,
  { cp, s, h }: { readonly cp: number; readonly s: number | null; readonly h: number | null },
  isSlower: boolean,
  others: readonly string[],
  isCompared: boolean,
): Judged {
  const sizes =
    s === null || h === null
      ? 'seq_length or hidden_size is unknown'
      : `a chunk of ${formatCount(Math.round(s / cp))} tokens with a hidden size of ${formatCount(h)}`;
  // Pipelines send and receive too.
  const ring =
    ppOf(evidence) === 1
      ? evidence.timelines
          .filter(({ steps }) => steps > 0)
          .map(({ sends, window_ns }) => share(sends.exposed_ns, window_ns))
      : [];
  const exposed = ring.length === 0 ? null : maxOf(ring);
  const figures =
    exposed === null
      ? sizes
      : `${sizes}; sends and receives without overlapping computation take ${percent(exposed)} of a step`;
  if (exposed !== null && exposed >= RING_EXPOSED) return confirmed(figures);
  if (!isSlower)
    return isCompared
      ? refuted(`${figures}; against ${evidence.baseline!.measured.run} it is not slower`)
      : untested(`${figures}; give a run with a smaller CP to compare with, or ${CAPTURE}`);
  if (others.length > 0) return untested(`${figures}; more than CP has changed: ${list(others.slice(0, 4))}`);
  if (s !== null && h !== null && s / cp < h) return confirmed(figures);
  if (exposed !== null && exposed < RING_HIDDEN) return refuted(`${figures}: it is hidden`);
  return untested(`${figures}; exposed sends would show it: ${CAPTURE}`);
}

// ---- S29 -----------------------------------------------------------------------------------------

const USUAL_NODE = threshold('symptoms_collectives.usual_node');
const SLOW_NETWORK = threshold('symptoms_collectives.slow_network');
const HIDDEN_NETWORK = threshold('symptoms_collectives.hidden_network');

export const S29: Symptom = symptom('S29', (evidence) => {
  const { view, world_size: world } = evidence;
  const offload = ['cpu_offloading', 'fine_grained_activation_offloading']
    .map((key) => view.setting(key))
    .find(({ value }) => isOn(value));
  const node =
    asNumber(view.setting('nproc_per_node').value) ?? asNumber(view.setting('gpus_per_node').value) ?? USUAL_NODE;
  if (offload === undefined || world === null || world <= node) return null;
  const version = view.version('nccl');
  const isNew = version.value === null ? null : compareVersions(version.value, '2.26') >= 0;
  const level = view.env('NCCL_NET_GDR_LEVEL');
  const direct = view.env('NCCL_NET_GDR_C2C');
  const isSet = (isNew !== true && level.value === 'PHB') || (isNew !== false && direct.value === '1');
  const asked = isNew === null ? [level, direct] : isNew ? [direct] : [level];
  const steps = evidence.timelines.filter((timeline) => timeline.steps > 0);
  const exposed = steps.map(({ collectives, sends, other, window_ns }) =>
    share(collectives.exposed_ns + sends.exposed_ns + other.exposed_ns, window_ns),
  );
  const most = exposed.length === 0 ? null : maxOf(exposed);
  const isSlow = most !== null && most >= SLOW_NETWORK;
  // Without a measurement, only a variable that is known to be missing is reported.
  if (!isSlow && (isSet || asked.some(({ by }) => by === 'unknown'))) return null;
  const config = `${factText(offload)} on ${formatCount(world)} ranks, NCCL ${version.value ?? 'of unknown version'}, ${factsText(asked)}`;
  const figures = most === null ? '' : `communication without overlapping computation takes ${percent(most)} of a step`;
  const seen = {
    seen: figures === '' ? config : `${figures}; ${config}`,
    source: steps[0]?.path ?? placeOfFacts([offload, ...asked]),
  };
  if (isSlow && isSet)
    return { ...seen, ...refuted(`${factsText(asked)} is set: the network is slow for another reason`) };
  if (most !== null && most < HIDDEN_NETWORK) return { ...seen, ...refuted(`${figures}: the network is not slow`) };
  if (!isSlow)
    return { ...seen, ...untested(`whether the network is slow meanwhile, a timeline would show it: ${CAPTURE}`) };
  return isNew === null || asked.some(({ by }) => by === 'unknown')
    ? {
        ...seen,
        ...untested(
          'the version of NCCL or its variables are unknown: run with NCCL_DEBUG=VERSION and add the job script',
        ),
      }
    : { ...seen, ...confirmed(`offloading is on and ${factsText(asked)}`) };
});
