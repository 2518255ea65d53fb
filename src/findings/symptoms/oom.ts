/** Out of memory: on one rank, with expandable segments, against the estimate, with a remedy already on. */

import { expandableConstraint } from '../../derive/lint/expandable-constraint.js';
import { asList, asNumber, isOn } from '../../derive/settings/values.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { VerdictResult as Verdict } from '../../model/results/common.js';
import type { EstimateStage } from '../../model/results/estimate.js';
import { formatBytes } from '../../model/units.js';
import type { Cause } from '../../model/vocabulary.js';
import { otherChanges, peaksAgainst } from './baseline.js';
import type { SymptomEvidence } from './evidence.js';
import { confirmed, type Judged, refuted, type Sighting, type Symptom, symptom, untested } from './symptom.js';
import { factText, list, percent, placeOfFacts } from './words.js';

/** The failure to report: the first and best known one. */
const firstOom = ({ ooms }: SymptomEvidence): Verdict | undefined => ooms[0];

const rankText = ({ rank, device }: Verdict): string =>
  rank !== null ? `rank ${rank}` : device !== null ? `device ${device}` : 'one process';

const sourceOf = ({ evidence }: Verdict): string => evidence[0]?.source ?? '';

/** Whether the tests of `diagnose` established this cause; `undecided` and guesses leave it open. */
function causeIs({ cause, confidence, summary }: Verdict, wanted: Cause): Judged | null {
  if (cause === wanted && confidence !== 'low')
    return confirmed(`diagnose finds ${wanted.replaceAll('_', ' ')} (${confidence}): ${summary}`);
  if (cause !== wanted && cause !== 'undecided' && confidence !== 'low')
    return refuted(
      `diagnose finds ${cause.replaceAll('_', ' ')} (${confidence}), not ${wanted.replaceAll('_', ' ')}: ${summary}`,
    );
  return null;
}

/** What is missing, and the capture that brings it. */
function open({ captures, missing }: Verdict): Judged {
  const [capture] = captures;
  const what = missing[0] === undefined ? '' : `; missing: ${missing[0]}`;
  return untested(
    `diagnose does not know the cause${what}${capture === undefined ? '; a memory snapshot at the failure would show it' : `; next time: ${capture.title}`}`,
  );
}

// ---- S1 ------------------------------------------------------------------------------------------

/** The most that any rank without a failure ever reserved. */
function fullestOther({ own, ooms }: SymptomEvidence): { readonly rank: number; readonly bytes: number } | null {
  const failed = new Set(ooms.map(({ rank }) => rank));
  let most: { rank: number; bytes: number } | null = null;
  for (const { rank, peak_reserved_bytes: bytes } of own.ranks)
    if (rank !== null && !failed.has(rank) && bytes !== null && bytes > (most?.bytes ?? -1)) most = { rank, bytes };
  return most;
}

export const S1: Symptom = symptom('S1', (evidence) => {
  const failed = new Set(evidence.ooms.map(({ rank }) => rank));
  const oom = firstOom(evidence);
  if (oom === undefined || failed.size !== 1 || oom.rank === null || oom.request === null) return null;
  const fullest = fullestOther(evidence);
  const device = evidence.device_bytes.value;
  if (fullest === null || device === null) return null;
  const headroom = device - fullest.bytes;
  // The request of rank 0 would have fitted on any other rank.
  if (headroom < oom.request.bytes) return null;
  const [request, most] = [formatBytes(oom.request.bytes), formatBytes(fullest.bytes)];
  const below = `${formatBytes(headroom)} below the device's ${formatBytes(device)}`;
  return {
    seen: `only rank ${oom.rank} failed, asking for ${request}; of the others rank ${fullest.rank} reserved most, ${most}, ${below}`,
    source: sourceOf(oom),
    ...singleRank(evidence, oom),
    ...forbidden(evidence),
  };
});

function forbidden({ facts }: SymptomEvidence): Pick<Sighting, 'instead'> {
  const constraint = expandableConstraint(facts);
  if (constraint === null) return {};
  return { instead: `expandable_segments:True would help, but ${constraint.text} (${constraint.source}).` };
}

/**
 * A first stage or a rank with many tokens also peaks alone: the missing variable makes fragmentation possible, and the
 * account shows whether it is the cause.
 */
function singleRank({ expandable }: SymptomEvidence, oom: Verdict): Judged {
  const setting = `${expandable.text}${expandable.source === '' ? '' : ` (${expandable.source})`}`;
  if (expandable.value === true) return refuted(`${setting}: it is set already, so this is not what the setting cures`);
  const judged = causeIs(oom, 'fragmentation');
  if (judged === null) {
    const { because } = open(oom);
    return untested(`${setting}; ${because}`);
  }
  if (judged.confirmation === 'confirmed' && expandable.value === null)
    return untested(`${judged.because}; ${setting}: add the job script or a dump of a rank's environment to the run`);
  return { ...judged, because: `${setting}; ${judged.because}` };
}

// ---- S2 ------------------------------------------------------------------------------------------

const STATE = ['parameter', 'optimizer_state', 'gradient'] as const;

/** Memory live for parameters, gradients and the optimizer. */
function stateText({ components }: Verdict): string {
  if (components === null) return '';
  const parts = components.parts.filter(({ component }) => (STATE as readonly string[]).includes(component));
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  const named = parts.map((part) => `${part.component.replaceAll('_', ' ')} ${formatBytes(part.bytes)}`);
  return parts.length === 0 ? '' : `; model state holds ${formatBytes(bytes)} (${list(named)})`;
}

function isCapacity(oom: Verdict): Judged {
  const judged = causeIs(oom, 'capacity') ?? open(oom);
  return judged.confirmation === 'confirmed' ? confirmed(`${judged.because}${stateText(oom)}`) : judged;
}

export const S2: Symptom = symptom('S2', (evidence) => {
  const oom = firstOom(evidence);
  const { value, text, source } = evidence.expandable;
  if (oom === undefined || value !== true) return null;
  return {
    seen: `${rankText(oom)} ran out of memory; ${text}${source === '' ? '' : ` (${source})`}`,
    source: sourceOf(oom),
    ...isCapacity(oom),
  };
});

// ---- S3 ------------------------------------------------------------------------------------------

function largestOf({ components }: EstimateStage): string {
  const [most] = components.toSorted((a, b) => b.bytes - a.bytes);
  return most === undefined
    ? ''
    : `; largest component: ${most.name.replaceAll('_', ' ')}, ${formatBytes(Math.round(most.bytes))}`;
}

const LEAST_ITERATIONS = threshold('symptoms_oom.least_iterations');

export const S3: Symptom = symptom('S3', (evidence) => {
  const { estimate } = evidence.estimate;
  const device = evidence.device_bytes.value;
  if (estimate === null || device === null) return null;
  const stage = estimate.stages[estimate.hottest]!;
  if (stage.total_bytes <= device || provenToFit(evidence)) return null;
  const bounds = `${formatBytes(Math.round(stage.low_bytes))} to ${formatBytes(Math.round(stage.high_bytes))}`;
  return {
    seen: `stage ${stage.stage} is estimated at ${formatBytes(Math.round(stage.total_bytes))} (${bounds}), the device has ${formatBytes(device)}`,
    source: evidence.device_bytes.source,
    ...estimateHolds(evidence, stage, device),
  };
});

/** For a run that trains without running out of memory, the estimate does not matter. */
function provenToFit({ ooms, own: { status } }: SymptomEvidence): boolean {
  const { first_iteration: first, last_iteration: last } = status;
  return ooms.length === 0 && first !== null && last !== null && last - first + 1 >= LEAST_ITERATIONS;
}

function estimateHolds(evidence: SymptomEvidence, stage: EstimateStage, device: number): Judged {
  const oom = firstOom(evidence);
  const part = largestOf(stage);
  if (oom !== undefined) {
    const judged = causeIs(oom, 'capacity');
    if (judged !== null)
      return { ...judged, because: `${judged.because}${judged.confirmation === 'confirmed' ? part : ''}` };
  }
  if (stage.low_bytes > device) return confirmed(`even its lower bound does not fit${part}`);
  return untested(
    `the device is within the bounds of the estimate${part}; only a run with memory lines (log_memory) can decide it`,
  );
}

// ---- S7 ------------------------------------------------------------------------------------------

const PEAK_MOVED = threshold('symptoms_oom.peak_moved');

const modulesOf = (text: string | null): readonly string[] => asList(text) ?? [];

export const S7: Symptom = symptom('S7', (evidence) => {
  const { view, baseline } = evidence;
  const oom = firstOom(evidence);
  const modules = view.setting('recompute_modules');
  if (oom === undefined || baseline === null || !modulesOf(modules.value).includes('layernorm')) return null;
  const earlier = baseline.view.setting('recompute_modules');
  if (earlier.by === 'unknown' || modulesOf(earlier.value).includes('layernorm')) return null;
  const seen = {
    seen: `${rankText(oom)} ran out of memory with ${factText(modules)}; ${baseline.measured.run} had ${earlier.value ?? 'none'}`,
    source: placeOfFacts([modules]) || sourceOf(oom),
  };
  const peaks = peaksAgainst(evidence);
  if (peaks === null)
    return {
      ...seen,
      ...untested(
        'the two runs print no peak of the same rank: run both with memory lines (log_memory, or log_memory_to_tensorboard)',
      ),
    };
  const otherSettings = otherChanges(evidence, ['recompute_modules', 'recompute_granularity']);
  if (otherSettings.length > 0)
    return { ...seen, ...untested(`${peaks.text}, but more has changed: ${list(otherSettings)}`) };
  return peaks.now >= (1 - PEAK_MOVED) * peaks.before
    ? { ...seen, ...confirmed(peaks.text) }
    : { ...seen, ...refuted(`${peaks.text}: it did move the peak, only not far enough`) };
});

// ---- S15, S17 ------------------------------------------------------------------------------------

export const S15: Symptom = symptom('S15', (evidence) => {
  const oom = firstOom(evidence);
  const offload = evidence.view.setting('cpu_offloading');
  if (oom === undefined || offload.by === 'unknown' || !isOn(offload.value)) return null;
  return {
    seen: `${rankText(oom)} ran out of memory with ${factText(offload)}`,
    source: sourceOf(oom),
    ...isCapacity(oom),
  };
});

/** Bytes by which the request failed, from the test of capacity. */
function shortBytes({ tests }: Verdict): number | null {
  return tests.find(({ cause }) => cause === 'capacity')?.numbers['short_bytes'] ?? null;
}

export const S17: Symptom = symptom('S17', (evidence) => {
  const oom = firstOom(evidence);
  const offload = evidence.view.setting('optimizer_cpu_offload');
  const fraction = evidence.view.setting('optimizer_offload_fraction');
  const share = asNumber(fraction.value);
  if (oom === undefined || !isOn(offload.value) || fraction.by !== 'told' || share === null) return null;
  if (share <= 0 || share >= 1) return null;
  return {
    seen: `${rankText(oom)} ran out of memory with ${factText(offload)}, ${factText(fraction)}`,
    source: placeOfFacts([fraction]) || sourceOf(oom),
    ...moreOffloaded(oom, share),
  };
});

/** A fraction of 1 would remove the states that are still on the device. */
function moreOffloaded(oom: Verdict, share: number): Judged {
  const judged = causeIs(oom, 'capacity');
  if (judged?.confirmation === 'refuted') return judged;
  const short = shortBytes(oom);
  const states = oom.components?.parts.find(({ component }) => component === 'optimizer_state')?.bytes;
  if (judged === null || short === null || short <= 0 || oom.components === null)
    return untested(
      `${judged === null ? open(oom).because : judged.because}; the part of the optimizer left on the device is unknown: a memory snapshot at the failure, or runs at several fractions, would show it`,
    );
  const left = states ?? 0;
  const figures = `${formatBytes(left)} of optimizer state are live on the device at ${percent(share)} offloaded, ${formatBytes(short)} are missing`;
  return left >= short
    ? confirmed(`${figures}: a higher fraction can close it`)
    : refuted(`${figures}: not even all of it offloaded would do`);
}
