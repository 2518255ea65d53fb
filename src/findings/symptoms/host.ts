/** Host overhead and jitter: the device waits for work that has not been launched. */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { MeasuredSteps } from '../../model/measurement.js';
import { formatCount } from '../../model/units.js';
import type { SymptomEvidence } from './evidence.js';
import { bestTimeline, CAPTURE } from './speed.js';
import { confirmed, refuted, type Symptom, symptom, untested } from './symptom.js';
import { milliseconds, percent } from './words.js';

const IDLE = threshold('symptoms_host.idle_share');
const WAITS_FOR_LAUNCHES = threshold('symptoms_host.waits_for_launches');
const HARDLY_WAITS = threshold('symptoms_host.hardly_waits');
const LOW_SHARE = threshold('symptoms_host.low_peak_share');
const JITTER = threshold('symptoms_host.jitter_share');
const JITTER_STEPS = threshold('symptoms_host.jitter_steps');
const LONGEST_STEP_MS = threshold('symptoms_host.longest_step_ms');

/** Dense BF16 TFLOP/s as on the data sheets; the longer names first. */
const PEAKS: readonly (readonly [RegExp, number])[] = [
  [/gb300/i, 2500],
  [/gb200/i, 2500],
  [/gh200/i, 989],
  [/b300/i, 2250],
  [/b200/i, 2250],
  [/h20\b/i, 148],
  [/h[128]00.{0,60}pcie/i, 756],
  [/h[128]00/i, 989],
  [/a[18]00/i, 312],
  [/l40s/i, 362],
];

interface Sign {
  readonly text: string;
  readonly source: string;
}

function isJittery(steps: MeasuredSteps | null): steps is MeasuredSteps {
  return (
    steps !== null &&
    steps.count >= JITTER_STEPS &&
    steps.median_ms <= LONGEST_STEP_MS &&
    steps.spread_ms > JITTER * steps.median_ms
  );
}

function signsOf(evidence: SymptomEvidence): Sign[] {
  const { own, facts, steps_source, timelines } = evidence;
  const signs: Sign[] = [];
  const idle = timelines
    .filter(({ steps, idle_ns, window_ns }) => steps > 0 && idle_ns >= IDLE * window_ns)
    .toSorted((a, b) => b.idle_ns / b.window_ns - a.idle_ns / a.window_ns)[0];
  if (idle !== undefined)
    signs.push({
      text: `the device${idle.rank === null ? '' : ` of rank ${idle.rank}`} does nothing for ${percent(idle.idle_ns / idle.window_ns)} of its steps`,
      source: idle.path,
    });
  const { steps } = own;
  const peak = PEAKS.find(([pattern]) => pattern.test(facts.device.name ?? ''))?.[1];
  if (steps?.median_tflops != null && peak !== undefined && steps.median_tflops < LOW_SHARE * peak)
    signs.push({
      text: `${steps.median_tflops.toFixed(1)} TFLOP/s per GPU are ${percent(steps.median_tflops / peak)} of the ${formatCount(peak)} dense BF16 of ${facts.device.name}`,
      source: steps_source ?? '',
    });
  if (isJittery(steps))
    signs.push({
      text: `steps of ${steps.median_ms.toFixed(1)} ms vary by ±${percent(steps.spread_ms / steps.median_ms)}`,
      source: steps_source ?? '',
    });
  return signs;
}

export const S25: Symptom = symptom('S25', (evidence) => {
  const signs = signsOf(evidence);
  const [first] = signs;
  if (first === undefined) return null;
  const seen = { seen: signs.map(({ text }) => text).join('; '), source: first.source };
  const stragglers = evidence.own.disturbances
    .filter(({ kind }) => kind === 'straggler')
    .map(({ text }) => `; ${text}`);
  // The rank that computes least waits for others and for its host; the busiest one waits for its host only.
  const timeline = bestTimeline(evidence);
  if (timeline === undefined)
    return { ...seen, ...untested(`no timeline shows which rank waits for which${stragglers.join('')}: ${CAPTURE}`) };
  const { ns, count } = timeline.launch_gaps;
  const share = ns / timeline.window_ns;
  const figures = `${timeline.path}: ${formatCount(count)} gaps end with a launch that came too late, ${milliseconds(ns)} or ${percent(share)} of the steps${stragglers.join('')}`;
  if (share >= WAITS_FOR_LAUNCHES) return { ...seen, ...confirmed(figures) };
  if (share < HARDLY_WAITS) return { ...seen, ...refuted(figures) };
  return { ...seen, ...untested(`${figures}: too little to be sure; capture more steps`) };
});
