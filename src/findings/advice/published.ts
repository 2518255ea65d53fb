/**
 * Experiments that were published: where a run has their workload, their figures are the answer, before any estimate.
 * GB are decimal, as in the guides.
 */
import type { Experiment } from '../../knowledge/measured.js';
import { experimentOf, lostPercent, measured, workloadText } from './experiments.js';
import { type Cost, type FixContext, isSet, type Saving } from './fix.js';

const GB = 1e9;

export interface PublishedCase {
  readonly name: string;
  /** The run that the others are compared with. */
  readonly baseline: Experiment;
  /** By id of the fix. */
  readonly outcomes: ReadonlyMap<string, Experiment>;
  matches(context: Pick<FixContext, 'config' | 'view'>): boolean;
}

const outcomes = (ids: Readonly<Record<string, string>>): ReadonlyMap<string, Experiment> =>
  new Map(Object.entries(ids).map(([fix, id]) => [fix, experimentOf(id)]));

const LLAMA: PublishedCase = {
  name: 'Llama 3 70B SFT on 32 × H100 80GB, TP4 PP4 VPP5 DP2',
  baseline: experimentOf('llama-baseline'),
  outcomes: outcomes({
    'expandable-segments': 'llama-expandable',
    'pp-8': 'llama-pp8',
    'tp-8': 'llama-tp8',
    'recompute-mlp': 'llama-mlp',
  }),
  matches({ config: { layers, hidden, seq, mbs, tp, pp, dp } }) {
    return layers === 80 && hidden === 8192 && seq === 4096 && mbs === 1 && tp === 4 && pp === 4 && dp === 2;
  },
};

const QWEN: PublishedCase = {
  name: 'Qwen3-30B-A3B, optimizer offload by fraction',
  baseline: experimentOf('qwen-base'),
  outcomes: outcomes({
    'optimizer-offload-25': 'qwen-offload-0.25',
    'optimizer-offload-50': 'qwen-offload-0.5',
    'optimizer-offload-75': 'qwen-offload-0.75',
    'optimizer-offload-100': 'qwen-offload-1',
  }),
  matches({ config: { layers, hidden, experts }, view }) {
    // The baseline is without offload; Megatron-LM's fraction is 1.0 even then.
    return layers === 48 && hidden === 2048 && experts === 128 && !isSet(view, 'optimizer_cpu_offload');
  },
};

const CASES: readonly PublishedCase[] = [LLAMA, QWEN];

export function publishedCase(context: Pick<FixContext, 'config' | 'view'>): PublishedCase | null {
  return CASES.find((one) => one.matches(context)) ?? null;
}

/**
 * The published saving of a fix; undefined where it was not among the experiments, or the peak stayed about the same.
 */
export function publishedSaving(of: PublishedCase | null, id: string): Saving | undefined {
  const [before, after] = [of?.baseline.peak_gb, of?.outcomes.get(id)?.peak_gb];
  if (before == null || after == null || after >= before) return undefined;
  return {
    bytes: Math.round((before - after) * GB),
    by: 'measured',
    text: `measured on this workload: peak ${before} → ${after} GB`,
  };
}

/** What it cost there, against the baseline; undefined where it was not among the experiments. */
export function publishedCost(of: PublishedCase | null, id: string): Cost | undefined {
  const outcome = of?.outcomes.get(id);
  if (outcome === undefined) return undefined;
  const { tflops, step_factor: factor } = outcome;
  return {
    percent: lostPercent(outcome),
    by: 'workload',
    on: workloadText(outcome.id),
    text: `measured on this workload: ${tflops === null ? `step time × ${factor}` : `${tflops} TFLOP/s/GPU`}`,
    evidence: [measured(outcome.id)],
  };
}
