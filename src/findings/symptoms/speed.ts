/** Slower than before, or not as fast as expected, in comparison with an earlier run. */

import { asList, asNumber, isOn } from '../../derive/settings/values.js';
import type { View } from '../../derive/settings/view.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxBy } from '../../model/lists.js';
import { peaksAgainst, speedAgainst } from './baseline.js';
import type { SymptomEvidence, Timeline } from './evidence.js';
import { factOf, type SymptomRule } from './symptom.js';

const UTILIZATION_DROP = threshold('symptoms_speed.utilization_drop');
const SLOWER = threshold('symptoms_speed.slower');
const PEAK_FELL = threshold('symptoms_speed.peak_fell');
const OFFLOAD_SLOWDOWN = threshold('symptoms_speed.offload_slowdown');
const OPTIMIZER_SHARE = threshold('symptoms_speed.optimizer_share');
const LEAST_GAIN = threshold('symptoms_speed.least_gain');
const HOST_BOUND = threshold('symptoms_speed.host_bound');
const NOT_HOST_BOUND = threshold('symptoms_speed.not_host_bound');
const SMALL_GEMM_SHARE = threshold('symptoms_speed.small_gemm_share');
const LARGE_GEMM_SHARE = threshold('symptoms_speed.large_gemm_share');

const has = (view: View, module: string): boolean =>
  (asList(view.setting('recompute_modules').value) ?? []).includes(module);

const RECOMPUTE_KEYS = ['recompute_modules', 'recompute_granularity'];
const OFFLOAD_KEYS = ['optimizer_cpu_offload', 'optimizer_offload_fraction', 'use_precision_aware_optimizer'];

const usesFp8 = (view: View): boolean | null => {
  const fp8 = view.setting('fp8');
  if (fp8.value !== null && isOn(fp8.value)) return true;
  const recipe = view.setting('mixed_precision');
  if (recipe.value !== null && /fp8/i.test(recipe.value)) return true;
  return fp8.by === 'unknown' && recipe.by === 'unknown' && view.setting('bf16').by === 'unknown' ? null : false;
};

/** The device with the largest share of computing shows it best. */
export function bestTimeline({ timelines }: SymptomEvidence): Timeline | undefined {
  const stepped = timelines.filter(({ steps }) => steps > 0);
  return maxBy(stepped, ({ compute_ns, window_ns }) => compute_ns / window_ns);
}

function isSlowByOffload(fraction: number | null, earlier: number | null, timer: number | null): string {
  if (timer !== null && timer < OPTIMIZER_SHARE) return 'not_optimizer';
  if (fraction === null) return 'fraction_unknown';
  if (fraction < 1) return 'only_part';
  return earlier === null || earlier >= fraction ? 'as_much' : 'slow';
}

export const SPEED_RULES: Readonly<Record<string, SymptomRule>> = {
  S6: (evidence) => {
    const { baseline, view } = evidence;
    const pair = speedAgainst(evidence, RECOMPUTE_KEYS);
    if (pair === null || baseline === null || pair.speed >= 1 - UTILIZATION_DROP || !has(view, 'mlp')) return null;
    const { by, value } = baseline.view.setting('recompute_modules');
    return {
      source: evidence.steps_source ?? '',
      answer: has(baseline.view, 'mlp') ? 'recomputes_too' : pair.isMixed ? 'mixed' : 'recompute',
      figures: {
        ...pair.figures,
        modules: factOf(view.setting('recompute_modules')),
        earlier: by === 'unknown' ? null : (value ?? 'None'),
      },
    };
  },

  S10: (evidence) => {
    const { baseline, view } = evidence;
    if (baseline === null || !has(view, 'mlp') || !has(view, 'core_attn')) return null;
    if (!has(baseline.view, 'mlp') || has(baseline.view, 'core_attn')) return null;
    const pair = speedAgainst(evidence, RECOMPUTE_KEYS);
    if (pair === null || pair.speed >= 1 - SLOWER) return null;
    const peaks = peaksAgainst(evidence);
    const isSame = peaks !== null && peaks.now >= (1 - PEAK_FELL) * peaks.before;
    return {
      source: evidence.steps_source ?? '',
      answer: pair.isMixed ? 'mixed' : peaks === null ? 'no_peaks' : isSame ? 'nothing_gained' : 'saves',
      figures: { ...peaks?.figures, ...pair.figures, modules: factOf(view.setting('recompute_modules')) },
    };
  },

  S16: (evidence) => {
    const { baseline, view, timers, own } = evidence;
    const offload = view.setting('optimizer_cpu_offload');
    const pair = isOn(offload.value) ? speedAgainst(evidence, OFFLOAD_KEYS) : null;
    if (pair === null || baseline === null || pair.speed * OFFLOAD_SLOWDOWN >= 1) return null;
    const { by, value } = view.setting('optimizer_offload_fraction');
    const fraction = by === 'told' ? asNumber(value) : null;
    const before = (key: string): string | null => baseline.view.setting(key).value;
    const earlier = isOn(before('optimizer_cpu_offload')) ? asNumber(before('optimizer_offload_fraction')) : 0;
    // Of Megatron's timer of the optimizer; null where it prints none.
    const timer = timers.find(({ name }) => /^optimizer(?:-inner-step)?(?:\.max_ms|\.ms)$/.test(name));
    const share = timer === undefined || own.steps === null ? null : timer.ms / own.steps.median_ms;
    return {
      source: evidence.steps_source ?? '',
      answer: pair.isMixed ? 'mixed' : isSlowByOffload(fraction, earlier, share),
      figures: {
        ...pair.figures,
        ...{ offload: factOf(offload), fraction, earlier, timer: share, timer_source: timer?.source },
      },
    };
  },

  S20: (evidence) => {
    const { baseline, view } = evidence;
    if (baseline === null || usesFp8(view) !== true || usesFp8(baseline.view) !== false) return null;
    const pair = speedAgainst(evidence, [], { precision: true });
    if (pair === null || pair.speed >= LEAST_GAIN) return null;
    const recipe = view.setting('fp8_recipe').value;
    const isOfBlocks = recipe !== null && /mxfp8|block|subchannel/i.test(recipe);
    const timeline = bestTimeline(evidence);
    const [gaps, gemm] =
      timeline === undefined
        ? [0, 0]
        : [timeline.launch_gaps.ns / timeline.window_ns, timeline.gemm.total_ns / Math.max(1, timeline.all_kernels_ns)];
    return {
      source: evidence.steps_source ?? '',
      answer: pair.isMixed
        ? 'mixed'
        : timeline === undefined
          ? 'no_timeline'
          : gaps >= HOST_BOUND || gemm <= SMALL_GEMM_SHARE
            ? 'overhead'
            : gaps < NOT_HOST_BOUND && gemm >= LARGE_GEMM_SHARE && !isOfBlocks
              ? 'no_overhead'
              : 'unclear',
      figures: {
        ...{ ...pair.figures, speed: pair.speed, small_blocks: isOfBlocks ? recipe : null },
        ...{ path: timeline?.path, gaps, gemm },
      },
    };
  },
};
