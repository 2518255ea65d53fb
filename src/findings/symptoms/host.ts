/** Host overhead and jitter: the device waits for work that has not been launched. */
import { bf16TflopsOf } from '../../derive/settings/devices.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxBy } from '../../model/lists.js';
import type { MeasuredSteps } from '../../model/measurement.js';
import { bestTimeline } from './speed.js';
import type { SymptomRule } from './symptom.js';

const IDLE = threshold('symptoms_host.idle_share');
const WAITS_FOR_LAUNCHES = threshold('symptoms_host.waits_for_launches');
const HARDLY_WAITS = threshold('symptoms_host.hardly_waits');
const LOW_SHARE = threshold('symptoms_host.low_peak_share');
const JITTER = threshold('symptoms_host.jitter_share');
const JITTER_STEPS = threshold('symptoms_host.jitter_steps');
const LONGEST_STEP_MS = threshold('symptoms_host.longest_step_ms');

function isJittery(steps: MeasuredSteps | null): steps is MeasuredSteps {
  return (
    steps !== null &&
    steps.count >= JITTER_STEPS &&
    steps.median_ms <= LONGEST_STEP_MS &&
    steps.spread_ms > JITTER * steps.median_ms
  );
}

export const HOST_RULES: Readonly<Record<string, SymptomRule>> = {
  S25: (evidence) => {
    const { facts, steps_source, timelines, own } = evidence;
    const { steps, disturbances } = own;
    const shares = timelines.flatMap(({ steps, idle_ns, window_ns, path, rank }) =>
      steps > 0 && idle_ns >= IDLE * window_ns ? [{ path, rank, idle: idle_ns / window_ns }] : [],
    );
    const idle = maxBy(shares, (one) => one.idle);
    const peak = bf16TflopsOf(facts.device.name ?? '');
    const tflops = steps?.median_tflops ?? null;
    const isLow = tflops !== null && peak !== undefined && tflops < LOW_SHARE * peak;
    if (idle === undefined && !isLow && !isJittery(steps)) return null;
    // The rank that computes least waits for others and for its host; the busiest one waits for its host only.
    const timeline = bestTimeline(evidence);
    const { ns = 0, count = 0 } = timeline?.launch_gaps ?? {};
    const share = ns / (timeline?.window_ns ?? 1);
    const stragglers = disturbances.filter(({ kind }) => kind === 'straggler').map(({ text }) => text);
    return {
      source: idle?.path ?? steps_source ?? '',
      answer:
        timeline === undefined
          ? 'no_timeline'
          : share >= WAITS_FOR_LAUNCHES
            ? 'waits'
            : share < HARDLY_WAITS
              ? 'hardly_waits'
              : 'too_little',
      figures: {
        ...{ rank: idle?.rank, idle: idle?.idle, gpu: facts.device.name },
        ...(isLow ? { tflops, peak_tflops: peak, peak_share: tflops / peak } : {}),
        ...(isJittery(steps) ? { step_ms: steps.median_ms, spread: steps.spread_ms / steps.median_ms } : {}),
        ...{ path: timeline?.path, gaps: count, gap_ns: ns, gap_share: share, stragglers },
      },
    };
  },
};
