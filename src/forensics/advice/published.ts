/** Experiments that were published: where a run has their workload, their figures are the answer, before any estimate. GB are decimal, as in the guides. */
import type { FixContext, Saving } from './fix.js';
import { OFFLOAD_CURVE } from './fixes/optimizer.js';
import { LLAMA3_70B, MEM, OFF, REC } from './guides.js';

const GB = 1e9;

/** What one change did there. */
interface Outcome {
  readonly peakGb: number;
  /** Throughput lost, in percent of the baseline's golden value. */
  readonly percent: number;
  readonly text: string;
  readonly source: string;
}

export interface PublishedCase {
  readonly name: string;
  readonly baselineGb: number;
  readonly outcomes: ReadonlyMap<string, Outcome>;
  matches(context: Pick<FixContext, 'config' | 'view'>): boolean;
}

const LLAMA: PublishedCase = {
  name: LLAMA3_70B,
  baselineGb: 58.8,
  outcomes: new Map<string, Outcome>([
    [
      'expandable-segments',
      { peakGb: 59, percent: 0, text: 'the same configuration passed, at ~59 GB and ~704 TFLOP/s/GPU', source: MEM },
    ],
    ['pp-8', { peakGb: 53.2, percent: 5.9, text: '668.0 TFLOP/s/GPU, −5.9 % of the golden 709.93', source: MEM }],
    ['tp-8', { peakGb: 50.2, percent: 28.4, text: '508.7 TFLOP/s/GPU, −28.4 % of the golden 709.93', source: MEM }],
    [
      'recompute-mlp',
      { peakGb: 55.6, percent: 16.4, text: '593.6 TFLOP/s/GPU, −16.4 % of the golden 709.93', source: REC },
    ],
  ]),
  matches({ config: { layers, hidden, seq, mbs, tp, pp, dp } }) {
    return layers === 80 && hidden === 8192 && seq === 4096 && mbs === 1 && tp === 4 && pp === 4 && dp === 2;
  },
};

const QWEN: PublishedCase = {
  name: 'Qwen3-30B-A3B, optimizer offload by fraction',
  baselineGb: 47.2,
  outcomes: new Map<string, Outcome>(
    OFFLOAD_CURVE.map(({ fraction, factor, gb }) => [
      `optimizer-offload-${Math.round(fraction * 100)}`,
      {
        peakGb: Math.round(10 * (47.2 - gb)) / 10,
        percent: Math.round(1000 * (1 - 1 / factor)) / 10,
        text: `step time ${factor} × that without offload`,
        source: OFF,
      },
    ]),
  ),
  matches({ config: { layers, hidden, experts }, view }) {
    const fraction = Number(view.setting('optimizer_offload_fraction').value ?? 0);
    return layers === 48 && hidden === 2048 && experts === 128 && !(fraction > 0);
  },
};

const CASES: readonly PublishedCase[] = [LLAMA, QWEN];

export function publishedCase(context: Pick<FixContext, 'config' | 'view'>): PublishedCase | null {
  return CASES.find((one) => one.matches(context)) ?? null;
}

/** The published saving of a fix; undefined where it was not among the experiments. */
export function publishedSaving(of: PublishedCase | null, id: string): Saving | undefined {
  const outcome = of?.outcomes.get(id);
  if (of === null || outcome === undefined || outcome.peakGb >= of.baselineGb) return undefined;
  return {
    bytes: Math.round((of.baselineGb - outcome.peakGb) * GB),
    by: 'measured',
    text: `measured on this workload: peak ${of.baselineGb} → ${outcome.peakGb} GB`,
  };
}
