/** What `gate` returns; */
import type { CompareResult } from './compare.js';

/**
 * `warning`: a figure is worse, but within the noise, or of a metric that only warns. `updated`: the baseline was
 * written, and nothing was judged by it.
 */
export type GateVerdict = 'pass' | 'warning' | 'regression' | 'undecided' | 'updated';

export interface GateResult extends Omit<CompareResult, 'schema' | 'verdict' | 'preset'> {
  readonly schema: 'mbforensics/gate@1';
  readonly verdict: GateVerdict;
  readonly preset: 'default';
  /** The baseline file as it was named. */
  readonly baseline: string;
  /** The runs as they were named. */
  readonly operands: readonly string[];
  /** Metrics of `--warn`: judged, and without influence on whether the job fails. */
  readonly warned: readonly string[];
  /** What `--update` wrote; null without. `dropped`: the oldest repeats, beyond the most that are kept. */
  readonly update: { readonly runs: number; readonly dropped: number; readonly created: boolean } | null;
  /** A line of a file for each check; paths are relative to the root of the checkout where they are within it. */
  readonly places: Readonly<Record<string, { readonly file: string; readonly line: number }>>;
}
