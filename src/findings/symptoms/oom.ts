/** Out of memory: on one rank, with expandable segments, against the estimate, with a remedy already on. */

import { expandableConstraint } from '../../derive/lint/expandable-constraint.js';
import { asList, asNumber, isOn } from '../../derive/settings/values.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { allFailures } from '../../model/all-failures.js';
import { maxBy, sumOf } from '../../model/lists.js';
import type { VerdictResult as Verdict } from '../../model/results/common.js';
import type { Sentence } from '../../model/statement.js';
import type { Cause } from '../../model/vocabulary.js';
import { otherChanges, peaksAgainst } from './baseline.js';
import type { SymptomEvidence } from './evidence.js';
import { fact, factOf, placeOfFacts, type SightedFigures, type Sighting, type SymptomRule } from './symptom.js';

/** The failure to report: the first and best known one. */
const firstOom = ({ ooms }: SymptomEvidence): Verdict | undefined => ooms[0];

/** Whether the tests of `diagnose` established this cause; `undecided` and guesses leave it open. */
function diagnosed(oom: Verdict, wanted: Cause) {
  const { cause, confidence, summary, captures, missing } = oom;
  const isOpen = confidence === 'low' || (cause !== wanted && cause === 'undecided');
  return {
    answer: isOpen ? 'open' : cause === wanted ? 'found' : 'other_cause',
    figures: {
      ...{ wanted, cause, confidence, summary, rank: oom.rank, device: oom.device },
      ...{ capture: captures[0]?.title, lacking: missing[0], open: isOpen },
    },
  } as const;
}

/** What of a failure a sentence of any rule may name, and its place. */
const seenIn = (oom: Verdict, figures: SightedFigures = {}): Omit<Sighting, 'answer'> => ({
  source: oom.evidence[0]?.source ?? '',
  figures: { ...diagnosed(oom, 'capacity').figures, ...figures },
});

/** `PYTORCH_CUDA_ALLOC_CONF=… (job.sh line 3)`. */
const settingOf = ({ expandable: { text, source } }: SymptomEvidence): Sentence =>
  fact('sourced', { text, source: source || null });

const STATE = ['parameter', 'optimizer_state', 'gradient'] as const;

/** Memory live for parameters, gradients and the optimizer. */
function stateOf({ components }: Verdict): SightedFigures {
  const parts = components?.parts.filter(({ component }) => (STATE as readonly string[]).includes(component)) ?? [];
  const named = parts.map(({ component, bytes }) => fact('component', { component, bytes }));
  return parts.length === 0 ? {} : { state_bytes: sumOf(parts.map(({ bytes }) => bytes)), state: named };
}

/** The most that any rank without a failure ever reserved. */
function fullestOther({ own, ooms }: SymptomEvidence) {
  const failed = new Set(ooms.map(({ rank }) => rank));
  const healthy = own.ranks.filter(({ rank, peak_reserved_bytes: bytes }) => !failed.has(rank) && bytes !== null);
  return maxBy(
    healthy.filter(({ rank }) => rank !== null),
    ({ peak_reserved_bytes: bytes }) => bytes!,
  );
}

/**
 * A first stage or a rank with many tokens also peaks alone: the missing variable makes fragmentation possible, and the
 * account shows whether it is the cause.
 */
function singleRank({ expandable }: SymptomEvidence, oom: Verdict): string {
  if (expandable.value === true) return 'already_set';
  const { answer } = diagnosed(oom, 'fragmentation');
  return answer === 'found' && expandable.value === null ? 'setting_unknown' : answer;
}

const LEAST_ITERATIONS = threshold('symptoms_oom.least_iterations');
const PEAK_MOVED = threshold('symptoms_oom.peak_moved');

/** For a run that trains without running out of memory, the estimate does not matter. */
function provenToFit({ ooms, own: { status } }: SymptomEvidence): boolean {
  const { first_iteration: first, last_iteration: last } = status;
  return ooms.length === 0 && first !== null && last !== null && last - first + 1 >= LEAST_ITERATIONS;
}

const modulesOf = (text: string | null): readonly string[] => asList(text) ?? [];

export const OOM_RULES: Readonly<Record<string, SymptomRule>> = {
  S1: (evidence) => {
    const failed = new Set(allFailures(evidence.ooms).map(({ rank }) => rank));
    const oom = firstOom(evidence);
    if (oom === undefined || failed.size !== 1 || oom.rank === null || oom.request === null) return null;
    const fullest = fullestOther(evidence);
    const device = evidence.device_bytes.value;
    if (fullest === undefined || device === null) return null;
    const [request, most] = [oom.request.bytes, fullest.peak_reserved_bytes!];
    // The request of rank 0 would have fitted on any other rank.
    if (device - most < request) return null;
    const constraint = expandableConstraint(evidence.facts);
    return {
      ...seenIn(oom, {
        ...{ wanted: 'fragmentation', setting: settingOf(evidence), fullest: fullest.rank, request_bytes: request },
        ...{ most_bytes: most, headroom_bytes: device - most, device_bytes: device },
        ...{ constraint: constraint?.text, constraint_source: constraint?.source },
      }),
      answer: singleRank(evidence, oom),
    };
  },

  S2: (evidence) => {
    const oom = firstOom(evidence);
    if (oom === undefined || evidence.expandable.value !== true) return null;
    const { answer } = diagnosed(oom, 'capacity');
    return { ...seenIn(oom, { setting: settingOf(evidence), ...stateOf(oom) }), answer };
  },

  S3: (evidence) => {
    const { estimate } = evidence.estimate;
    const { value: device, source } = evidence.device_bytes;
    if (estimate === null || device === null) return null;
    const { stage, total_bytes, low_bytes, high_bytes, components } = estimate.stages[estimate.hottest]!;
    if (total_bytes <= device || provenToFit(evidence)) return null;
    const oom = firstOom(evidence);
    const { answer, figures } = oom === undefined ? { answer: 'open', figures: {} } : diagnosed(oom, 'capacity');
    const largest = maxBy(components, ({ bytes }) => bytes);
    return {
      source,
      answer: answer !== 'open' ? answer : low_bytes > device ? 'lower_bound' : 'within_bounds',
      figures: {
        ...{ ...figures, stage, total_bytes, low_bytes, high_bytes, device_bytes: device },
        ...{ component: largest?.name, component_bytes: largest?.bytes },
      },
    };
  },

  S7: (evidence) => {
    const { view, baseline } = evidence;
    const oom = firstOom(evidence);
    const modules = view.setting('recompute_modules');
    if (oom === undefined || baseline === null || !modulesOf(modules.value).includes('layernorm')) return null;
    const earlier = baseline.view.setting('recompute_modules');
    if (earlier.by === 'unknown' || modulesOf(earlier.value).includes('layernorm')) return null;
    const peaks = peaksAgainst(evidence);
    const different = otherChanges(evidence, ['recompute_modules', 'recompute_granularity']);
    const { source, figures } = seenIn(oom, {
      ...{ ...peaks?.figures, baseline: baseline.measured.run },
      ...{ modules: factOf(modules), earlier: earlier.value, others: different },
    });
    const isSame = peaks !== null && peaks.now >= (1 - PEAK_MOVED) * peaks.before;
    const answer = peaks === null ? 'no_peaks' : different.length > 0 ? 'mixed' : isSame ? 'unmoved' : 'moved';
    return { source: placeOfFacts([modules]) || source, answer, figures };
  },

  S15: (evidence) => {
    const oom = firstOom(evidence);
    const offload = evidence.view.setting('cpu_offloading');
    if (oom === undefined || offload.by === 'unknown' || !isOn(offload.value)) return null;
    const { answer } = diagnosed(oom, 'capacity');
    return { ...seenIn(oom, { offload: factOf(offload), ...stateOf(oom) }), answer };
  },

  S17: (evidence) => {
    const oom = firstOom(evidence);
    const offload = evidence.view.setting('optimizer_cpu_offload');
    const fraction = evidence.view.setting('optimizer_offload_fraction');
    const share = asNumber(fraction.value);
    if (oom === undefined || !isOn(offload.value) || fraction.by !== 'told' || share === null) return null;
    if (share <= 0 || share >= 1) return null;
    const { answer } = diagnosed(oom, 'capacity');
    // Bytes by which the request failed.
    const short = oom.tests.find(({ cause }) => cause === 'capacity')?.numbers['short_bytes'] ?? 0;
    const isKnown = answer === 'found' && short > 0 && oom.components !== null;
    const left = oom.components?.parts.find(({ component }) => component === 'optimizer_state')?.bytes ?? 0;
    const { source, figures } = seenIn(oom, {
      ...{ offload: factOf(offload), fraction: factOf(fraction), share, left_bytes: left, short_bytes: short },
    });
    return {
      source: placeOfFacts([fraction]) || source,
      // A fraction of 1 would remove the states that are still on the device.
      answer: answer === 'other_cause' ? answer : !isKnown ? 'left_unknown' : left >= short ? 'enough' : 'not_enough',
      figures,
    };
  },
};
