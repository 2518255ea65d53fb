/** Slower than before, or not as fast as expected, in comparison with an earlier run. */

import { asList, asNumber, isOn } from '../../derive/settings/values.js';
import type { View } from '../../derive/settings/view.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { type Pair, peaksAgainst, speedAgainst } from './baseline.js';
import type { SymptomEvidence, Timeline } from './evidence.js';
import { confirmed, type Judged, refuted, type Symptom, symptom, untested } from './symptom.js';
import { factText, list, percent } from './words.js';

const UTILIZATION_DROP = threshold('symptoms_speed.utilization_drop');
const SLOWER = threshold('symptoms_speed.slower');
const PEAK_FELL = threshold('symptoms_speed.peak_fell');

const has = (view: View, module: string): boolean => {
  const modules = view.setting('recompute_modules');
  return (asList(modules.value) ?? []).includes(module);
};

const RECOMPUTE_KEYS = ['recompute_modules', 'recompute_granularity'];

const stepSource = ({ steps_source }: SymptomEvidence): string => steps_source ?? '';

const mixed = ({ others }: Pair): Judged =>
  untested(`more than that has changed (${list(others.slice(0, 4))}): repeat one of the two runs with the rest equal`);

export const S6: Symptom = symptom('S6', (evidence) => {
  const { baseline, view } = evidence;
  const pair = speedAgainst(evidence, RECOMPUTE_KEYS);
  if (pair === null || baseline === null || pair.speed >= 1 - UTILIZATION_DROP || !has(view, 'mlp')) return null;
  const modules = view.setting('recompute_modules');
  const earlier = baseline.view.setting('recompute_modules');
  return {
    seen: `${pair.text}, with ${factText(modules)}`,
    source: stepSource(evidence),
    ...(has(baseline.view, 'mlp')
      ? refuted(`${baseline.measured.run} recomputes mlp too (${earlier.value}): the drop has another reason`)
      : pair.others.length > 0
        ? mixed(pair)
        : confirmed(
            `${factText(modules)}; ${baseline.measured.run} has ${earlier.by === 'unknown' ? 'no known mlp' : (earlier.value ?? 'None')}, and nothing else that bears on it differs`,
          )),
  };
});

export const S10: Symptom = symptom('S10', (evidence) => {
  const { baseline, view } = evidence;
  if (baseline === null || !has(view, 'mlp') || !has(view, 'core_attn')) return null;
  if (!has(baseline.view, 'mlp') || has(baseline.view, 'core_attn')) return null;
  const pair = speedAgainst(evidence, RECOMPUTE_KEYS);
  if (pair === null || pair.speed >= 1 - SLOWER) return null;
  const modules = view.setting('recompute_modules');
  const seen = { seen: `${pair.text}, with ${factText(modules)}`, source: stepSource(evidence) };
  if (pair.others.length > 0) return { ...seen, ...mixed(pair) };
  const peaks = peaksAgainst(evidence);
  if (peaks === null)
    return {
      ...seen,
      ...untested(
        'slower, but the two print no peak of the same rank to show whether memory was saved: run both with memory lines (log_memory)',
      ),
    };
  return peaks.now >= (1 - PEAK_FELL) * peaks.before
    ? { ...seen, ...confirmed(`slower, and nothing gained: ${peaks.text}`) }
    : { ...seen, ...refuted(`slower, but it does save: ${peaks.text}`) };
});

const OFFLOAD_SLOWDOWN = threshold('symptoms_speed.offload_slowdown');
const OPTIMIZER_SHARE = threshold('symptoms_speed.optimizer_share');

export const S16: Symptom = symptom('S16', (evidence) => {
  const { baseline, view } = evidence;
  const offload = view.setting('optimizer_cpu_offload');
  const keys = ['optimizer_cpu_offload', 'optimizer_offload_fraction', 'use_precision_aware_optimizer'];
  const pair = isOn(offload.value) ? speedAgainst(evidence, keys) : null;
  if (pair === null || baseline === null || pair.speed * OFFLOAD_SLOWDOWN >= 1) return null;
  const fraction = view.setting('optimizer_offload_fraction');
  return {
    seen: `${pair.text}, with ${factText(offload)}`,
    source: stepSource(evidence),
    ...offloadIsSlow(evidence, pair, fraction.by === 'told' ? asNumber(fraction.value) : null),
  };
});

/** The share of a step that Megatron's timer of the optimizer takes; null where it prints none. */
function optimizerShare({ timers, own }: SymptomEvidence): { readonly share: number; readonly source: string } | null {
  const timer = timers.find(({ name }) => /^optimizer(?:-inner-step)?(?:\.max_ms|\.ms)$/.test(name));
  if (timer === undefined || own.steps === null) return null;
  return { share: timer.ms / own.steps.median_ms, source: timer.source };
}

function offloadIsSlow(evidence: SymptomEvidence, pair: Pair, fraction: number | null): Judged {
  const { baseline } = evidence;
  if (pair.others.length > 0) return mixed(pair);
  const timer = optimizerShare(evidence);
  const timed = timer === null ? '' : `; the optimizer takes ${percent(timer.share)} of a step (${timer.source})`;
  if (timer !== null && timer.share < OPTIMIZER_SHARE)
    return refuted(`the optimizer is not where the time goes${timed}`);
  const before = baseline!.view.setting('optimizer_cpu_offload');
  const earlier = isOn(before.value) ? asNumber(baseline!.view.setting('optimizer_offload_fraction').value) : 0;
  if (fraction === null)
    return untested(
      `optimizer_offload_fraction is unknown${timed}: add the run's configuration, or time steps at several fractions`,
    );
  if (fraction < 1)
    return refuted(`only ${percent(fraction)} are offloaded, which alone does not cost that much${timed}`);
  if (earlier === null || earlier >= fraction) return refuted(`${baseline!.measured.run} offloads as much${timed}`);
  return confirmed(
    `${percent(fraction)} offloaded here, ${percent(earlier)} in ${baseline!.measured.run}, and nothing else that bears on it differs${timed}`,
  );
}

// ---- S20 -----------------------------------------------------------------------------------------

const LEAST_GAIN = threshold('symptoms_speed.least_gain');
const HOST_BOUND = threshold('symptoms_speed.host_bound');
const NOT_HOST_BOUND = threshold('symptoms_speed.not_host_bound');
const SMALL_GEMM_SHARE = threshold('symptoms_speed.small_gemm_share');
const LARGE_GEMM_SHARE = threshold('symptoms_speed.large_gemm_share');

const usesFp8 = (view: View): boolean | null => {
  const fp8 = view.setting('fp8');
  if (fp8.value !== null && isOn(fp8.value)) return true;
  const recipe = view.setting('mixed_precision');
  if (recipe.value !== null && /fp8/i.test(recipe.value)) return true;
  return fp8.by === 'unknown' && recipe.by === 'unknown' && view.setting('bf16').by === 'unknown' ? null : false;
};

export const S20: Symptom = symptom('S20', (evidence) => {
  const { baseline, view } = evidence;
  if (baseline === null || usesFp8(view) !== true || usesFp8(baseline.view) !== false) return null;
  const pair = speedAgainst(evidence, [], { precision: true });
  if (pair === null || pair.speed >= LEAST_GAIN) return null;
  const recipe = view.setting('fp8_recipe');
  return {
    seen: `${pair.text}: FP8 gains ${pair.speed.toFixed(2)} times`,
    source: stepSource(evidence),
    ...(pair.others.length > 0 ? mixed(pair) : fp8Timeline(evidence, recipe.value)),
  };
});

/** The device with the largest share of computing shows it best. */
export function bestTimeline({ timelines }: SymptomEvidence): Timeline | undefined {
  return timelines
    .filter(({ steps }) => steps > 0)
    .toSorted((a, b) => b.compute_ns / b.window_ns - a.compute_ns / a.window_ns)[0];
}

export const CAPTURE =
  'nsys profile --trace=cuda,nvtx -c cudaProfilerApi (profile_step_start, profile_step_end), exported with nsys export --type sqlite';

function fp8Timeline(evidence: SymptomEvidence, recipe: string | null): Judged {
  const blocks =
    recipe !== null && /mxfp8|block|subchannel/i.test(recipe)
      ? `; the recipe ${recipe} quantizes in small blocks, which costs more than tensor-wise scaling`
      : '';
  const timeline = bestTimeline(evidence);
  if (timeline === undefined) return untested(`no timeline of steps shows where the time goes${blocks}: ${CAPTURE}`);
  const gaps = timeline.launch_gaps.ns / timeline.window_ns;
  const gemm = timeline.gemm.total_ns / Math.max(1, timeline.all_kernels_ns);
  const figures = `in ${timeline.path} the device waits for launches ${percent(gaps)} of the time, and matrix products are ${percent(gemm)} of what it computes${blocks}`;
  if (gaps >= HOST_BOUND || gemm <= SMALL_GEMM_SHARE) return confirmed(figures);
  if (gaps < NOT_HOST_BOUND && gemm >= LARGE_GEMM_SHARE && blocks === '') return refuted(figures);
  return untested(`${figures}: neither decides it; compare with a timeline of the BF16 run`);
}
