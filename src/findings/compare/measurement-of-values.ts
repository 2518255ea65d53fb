/**
 * Upstream golden values as a measurement, so that our own rules can judge a run by them. Bridge's memory is that of
 * the first memory line, printed before Adam's states meet a full set of activations; it stays a first peak, and is
 * compared with first peaks only.
 */

import type { BridgeValues, MegatronTrainingValues, StepValue, UpstreamValues } from '../../model/golden-values.js';
import { maxOf } from '../../model/lists.js';
import type { MeasuredRank, MeasuredSeries, Measurement } from '../../model/measurement.js';
import { openWithoutTables } from '../../store/open-store.js';

const GB = 1e9;
/** Bridge prints five significant digits: ±0.5 MB of 58.8 GB. */
const BRIDGE_DIGITS = 5e-5;
/** Megatron's bytes went through float32: 24 bits of mantissa. */
const FLOAT32 = 2 ** -24;

/** `name` is what the values are called: a file, or a name of the golden store. */
export async function measurementOfValues(name: string, values: UpstreamValues): Promise<Measurement> {
  const empty: Measurement = {
    run: name,
    label: null,
    commit: null,
    status: {
      ending: 'completed',
      failure: null,
      verdict: null,
      attempts: 1,
      first_iteration: null,
      last_iteration: null,
      target_iterations: null,
    },
    world_size: null,
    parallel: { tp: null, pp: null, vpp: null, cp: null, ep: null, dp: null, etp: null },
    gpu: { name: null, total_bytes: null },
    versions: {},
    commits: {},
    allocator_conf: null,
    ranks: [],
    peaks: [],
    steps: null,
    series: { iteration: [], loss: [], step_ms: [], tflops: [], grad_norm: [] },
    config: {},
    env: {},
    disturbances: [],
  };
  switch (values.kind) {
    case 'megatron_training':
      return withSeries({ ...empty, ranks: megatronRanks(values) }, megatronSeries(values));
    case 'bridge':
      return withSeries({ ...empty, ranks: bridgeRanks(values) }, bridgeSeries(values));
    case 'megatron_inference':
      return values.mem_max_allocated_bytes === null
        ? empty
        : { ...empty, ranks: [rankOf(null, null, values.mem_max_allocated_bytes, values.mem_max_allocated_bytes, 0)] };
    case 'empty':
      return empty;
  }
}

async function withSeries(measurement: Measurement, series: MeasuredSeries): Promise<Measurement> {
  const { iteration, step_ms, tflops } = series;
  const lines = iteration.map((step, i) => ({ iteration: step, step_ms: step_ms[i], tflops: tflops[i] }));
  const store = await openWithoutTables();
  const steady = await store
    .one('compare.steady_window', { lines: JSON.stringify(lines) })
    .finally(() => store.close());
  const [first, last] = [iteration[0] ?? null, iteration.at(-1) ?? null];
  return {
    ...measurement,
    series,
    steps: steady ?? null,
    status: { ...measurement.status, first_iteration: first, last_iteration: last, target_iterations: last },
  };
}

const number = (value: StepValue | null | undefined): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

function megatronSeries({ metrics }: MegatronTrainingValues): MeasuredSeries {
  const [loss, time] = [metrics.get('lm loss')?.values, metrics.get('iteration-time')?.values];
  const steps = [...new Set([...(loss?.keys() ?? []), ...(time?.keys() ?? [])])].sort((a, b) => a - b);
  return {
    iteration: steps,
    loss: steps.map((step) => number(loss?.get(step))),
    step_ms: steps.map((step) => {
      const seconds = number(time?.get(step));
      return seconds === null ? null : 1000 * seconds;
    }),
    tflops: steps.map(() => null),
    grad_norm: steps.map(() => null),
  };
}

function megatronRanks({ metrics }: MegatronTrainingValues): MeasuredRank[] {
  const peaks = finite(metrics.get('mem-max-allocated-bytes')?.values);
  const allocated = finite(metrics.get('mem-allocated-bytes')?.values);
  if (peaks.length === 0 && allocated.length === 0) return [];
  const bytes = peaks.map(([, value]) => value);
  const rank = rankOf(
    peaks[0]?.[0] ?? null,
    peaks.at(-1)?.[0] ?? null,
    bytes[0] ?? null,
    bytes.length === 0 ? null : maxOf(bytes),
    FLOAT32 * Math.max(0, maxOf(bytes)),
  );
  return [
    { ...rank, first_allocated_bytes: allocated[0]?.[1] ?? null, allocated_bytes: allocated.at(-1)?.[1] ?? null },
  ];
}

function finite(values: ReadonlyMap<number, StepValue> | undefined): [number, number][] {
  return [...(values ?? [])]
    .filter((entry): entry is [number, number] => number(entry[1]) !== null)
    .sort(([a], [b]) => a - b);
}

function bridgeSeries({ steps }: BridgeValues): MeasuredSeries {
  const sorted = [...steps].sort(([a], [b]) => a - b);
  return {
    iteration: sorted.map(([step]) => step + 1),
    loss: sorted.map(([, step]) => number(step.lm_loss)),
    step_ms: sorted.map(([, step]) => number(step.step_ms)),
    tflops: sorted.map(([, step]) => number(step.gpu_utilization)),
    grad_norm: sorted.map(([, step]) => number(step.grad_norm)),
  };
}

function bridgeRanks({ alloc, max_alloc, max_reserved }: BridgeValues): MeasuredRank[] {
  if (alloc === null && max_alloc === null && max_reserved === null) return [];
  const bytes = (value: number | null): number | null => (value === null ? null : Math.round(GB * value));
  const first = bytes(max_alloc);
  return [
    {
      ...rankOf(1, 1, first, first, BRIDGE_DIGITS * (first ?? 0)),
      first_allocated_bytes: bytes(alloc),
      allocated_bytes: bytes(alloc),
      peak_reserved_bytes: bytes(max_reserved),
    },
  ];
}

function rankOf(
  first: number | null,
  last: number | null,
  firstPeak: number | null,
  peak: number | null,
  precision: number,
): MeasuredRank {
  return {
    rank: null,
    stage: null,
    first_iteration: first,
    last_iteration: last,
    first_peak_allocated_bytes: firstPeak,
    peak_allocated_bytes: peak,
    first_allocated_bytes: null,
    allocated_bytes: null,
    peak_reserved_bytes: null,
    alloc_retries: null,
    precision_bytes: precision,
  };
}
