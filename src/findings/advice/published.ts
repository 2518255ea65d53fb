/**
 * Experiments that were published: where a run has their workload, their figures are the answer, before any estimate.
 * GB are decimal, as in the guides.
 */
import { loadData } from '../../knowledge/load-data.js';
import type { Experiment } from '../../knowledge/measured.js';
import { sentencesOf } from '../../model/statement.js';
import { experimentOf, lostPercent, measured, workloadText } from './experiments.js';
import { type Cost, type FixContext, isSet, type Saving, type Sizes } from './fix.js';

const adviceText = sentencesOf('advice', 'figures');

const GB = 1e9;

/** Of `published_cases` in `fixes.yaml`. */
interface PublishedCaseData {
  readonly name: string;
  /** The run that the others are compared with. */
  readonly baseline: string;
  /** The workload by its sizes, and by a setting that is not on in it. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly off?: string;
  /** Experiments by id of the fix. */
  readonly outcomes: Readonly<Record<string, string>>;
}

export interface PublishedCase {
  readonly name: string;
  readonly baseline: Experiment;
  readonly outcomes: ReadonlyMap<string, Experiment>;
}

const CASES = (loadData('fixes') as { readonly published_cases: readonly PublishedCaseData[] }).published_cases;

export function publishedCase({ config, view }: Pick<FixContext, 'config' | 'view'>): PublishedCase | null {
  const known = CASES.find(
    ({ sizes, off }) =>
      Object.entries(sizes).every(([name, size]) => config[name as keyof Sizes] === size) &&
      (off === undefined || !isSet(view, off)),
  );
  if (known === undefined) return null;
  const outcomes = new Map(Object.entries(known.outcomes).map(([fix, id]) => [fix, experimentOf(id)]));
  return { name: known.name, baseline: experimentOf(known.baseline), outcomes };
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
    text: adviceText('published_peak', { before, after }),
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
    text: adviceText('published_cost', { tflops, factor }),
    evidence: [measured(outcome.id)],
  };
}
