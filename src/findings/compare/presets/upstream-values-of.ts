/**
 * A run as the upstream projects would have written its golden values: what the presets judge, and what is written to
 * their files. Rounded as upstream rounds, so that values written and read again are the same.
 */
import type { BridgeStep, BridgeValues, MegatronTrainingValues, StepSeries } from '../../../model/golden-values.js';
import type { MeasuredRank, Measurement } from '../../../model/measurement.js';

const MS_PER_S = 1000;
const GB = 1e9;
/** `get_test_results_from_tensorboard_logs` keeps five decimals of every scalar. */
const DECIMALS = 5;
/** Digits of Bridge's memory line. */
const SIGNIFICANT_DIGITS = 5;
/** Megatron-LM samples its first step whatever the interval is. */
const FIRST_STEP = 1;

/**
 * Megatron-LM's training values: `lm loss`, `iteration-time` in seconds, memory in bytes. Megatron-LM records memory at
 * every step in its event files, which is taken where the run has them. A log prints it once or twice: of the rank with
 * the highest peak its first line and, at its last line, its largest peak and what was allocated then. A metric without
 * a value is absent, as is a step.
 */
export function megatronValuesOf(measurement: Measurement): MegatronTrainingValues {
  const { series } = measurement;
  const rank = worstRank(measurement.ranks);
  const metrics = new Map<string, StepSeries>();
  const add = (name: string, points: Iterable<readonly [step: number | null, value: number | null]>): void => {
    const values = new Map<number, number>();
    for (const [step, value] of points) if (step !== null && value !== null) values.set(step, rounded(value));
    if (values.size > 0) metrics.set(name, stepSeries(values));
  };
  const bySteps = (values: readonly (number | null)[], divisor: number) =>
    series.iteration.map((step, i): [number, number | null] => {
      const value = values[i] ?? null;
      return [step, value === null ? null : value / divisor];
    });
  add('lm loss', bySteps(series.loss, 1));
  if (series.num_zeros !== undefined) add('num-zeros', bySteps(series.num_zeros, 1));
  if (series.allocated_bytes !== undefined || series.max_allocated_bytes !== undefined) {
    add('mem-allocated-bytes', bySteps(series.allocated_bytes ?? [], 1));
    add('mem-max-allocated-bytes', bySteps(series.max_allocated_bytes ?? [], 1));
  } else if (rank !== undefined) {
    add('mem-allocated-bytes', [
      [rank.first_iteration, rank.first_allocated_bytes],
      [rank.last_iteration, rank.allocated_bytes],
    ]);
    add('mem-max-allocated-bytes', [
      [rank.first_iteration, rank.first_peak_allocated_bytes],
      [rank.last_iteration, rank.peak_allocated_bytes],
    ]);
  }
  add('iteration-time', bySteps(series.step_ms, MS_PER_S));
  return { kind: 'megatron_training', metrics, is_legacy: false };
}

/**
 * Bridge's values: steps count from 0, memory is decimal GB. `alloc` and `max_alloc` are those of the rank whose memory
 * line came first: of the ranks that printed at the lowest iteration, the lowest. `max_reserved` is the largest of all
 * ranks.
 */
export function bridgeValuesOf(measurement: Measurement): BridgeValues {
  const { series } = measurement;
  const steps = new Map<number, BridgeStep>(stepsOfBridge(measurement));
  if (steps.size === 0)
    for (const [i, iteration] of series.iteration.entries()) {
      const step: BridgeStep = {
        lm_loss: series.loss[i] ?? null,
        step_ms: series.step_ms[i] ?? null,
        gpu_utilization: series.tflops[i] ?? null,
        grad_norm: series.grad_norm[i] ?? null,
      };
      if (Object.values(step).some((value) => value !== null)) steps.set(iteration - 1, step);
    }
  const first = firstPrinted(measurement.ranks);
  const reserved = measurement.ranks.flatMap(({ peak_reserved_bytes: bytes }) => (bytes === null ? [] : [bytes]));
  return {
    kind: 'bridge',
    wrapper: '',
    steps: new Map([...steps].sort(([a], [b]) => a - b)),
    ...(series.bridge === undefined
      ? {
          alloc: gigabytes(first?.first_allocated_bytes ?? null),
          max_alloc: gigabytes(first?.first_peak_allocated_bytes ?? null),
          max_reserved: reserved.length === 0 ? null : gigabytes(reserved.reduce((a, b) => Math.max(a, b))),
        }
      : { alloc: series.bridge.alloc, max_alloc: series.bridge.max_alloc, max_reserved: series.bridge.max_reserved }),
    others: {},
  };
}

function stepsOfBridge({ series: { bridge } }: Measurement): [number, BridgeStep][] {
  return (bridge?.steps ?? []).map((step, i) => [
    step,
    {
      lm_loss: bridge!.lm_loss[i] ?? null,
      step_ms: bridge!.step_ms[i] ?? null,
      gpu_utilization: bridge!.gpu_utilization[i] ?? null,
      grad_norm: bridge!.grad_norm[i] ?? null,
    },
  ]);
}

const highestPeak = (rank: MeasuredRank): number =>
  rank.peak_allocated_bytes ?? rank.first_peak_allocated_bytes ?? rank.allocated_bytes ?? -1;

function worstRank(ranks: readonly MeasuredRank[]): MeasuredRank | undefined {
  let worst: MeasuredRank | undefined;
  for (const rank of ranks) if (worst === undefined || highestPeak(rank) > highestPeak(worst)) worst = rank;
  return worst;
}

function firstPrinted(ranks: readonly MeasuredRank[]): MeasuredRank | undefined {
  const printed = ranks.filter((rank) => rank.first_peak_allocated_bytes !== null || rank.allocated_bytes !== null);
  const order = (value: number | null): number => value ?? Number.MAX_SAFE_INTEGER;
  return printed.sort(
    (a, b) => order(a.first_iteration) - order(b.first_iteration) || order(a.rank) - order(b.rank),
  )[0];
}

function stepSeries(values: ReadonlyMap<number, number>): StepSeries {
  const sorted = [...values].sort(([a], [b]) => a - b);
  const steps = sorted.map(([step]) => step);
  return {
    start_step: steps[0]!,
    end_step: steps.at(-1)!,
    step_interval: stepInterval(steps),
    values: new Map(sorted),
  };
}

/**
 * As upstream infers it: what divides every distance, the first step left aside; with too few steps, their distance.
 */
function stepInterval(steps: readonly number[]): number {
  const cadence = steps.filter((step) => step !== FIRST_STEP);
  const used = cadence.length < 2 ? steps : cadence;
  let interval = 0;
  for (let i = 1; i < used.length; i += 1) interval = greatestCommonDivisor(interval, used[i]! - used[i - 1]!);
  return interval === 0 ? 1 : interval;
}

function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

const rounded = (value: number): number => (Number.isFinite(value) ? Number(value.toFixed(DECIMALS)) : value);

const gigabytes = (bytes: number | null): number | null =>
  bytes === null ? null : Number((bytes / GB).toPrecision(SIGNIFICANT_DIGITS));
