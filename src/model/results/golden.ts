/** What `golden list` and `golden show` return. */
import type { Ending, Measurement } from '../measurement.js';

export interface GoldenSummary {
  readonly name: string;
  /** How many runs of the same thing it consists of. */
  readonly runs: number;
  /** One for each run, in the order they were added. */
  readonly commits: readonly (string | null)[];
  /** ISO 8601, UTC: when its last run was added. */
  readonly added_at: string;
  /** Null where its runs ended differently. */
  readonly ending: Ending | null;
  /** Median over its runs, of the rank that has most. */
  readonly peak_allocated_bytes: number | null;
  /** Median over its runs. */
  readonly step_ms: number | null;
  /**
   * Standard deviation of the step time in per cent of its median: between runs, or within the steady window of a
   * single one.
   */
  readonly spread_percent: number | null;
}

export interface GoldenListResult {
  readonly schema: 'mbforensics/golden-list@1';
  /** Path of the store. */
  readonly db: string;
  readonly goldens: readonly GoldenSummary[];
}

/** How much a figure varies between runs of the same thing. */
export interface NoiseBand {
  /** Named as the check that it widens: `peak_allocated`, `step_time`. */
  readonly metric: string;
  /** As in `CompareCheck`. */
  readonly unit: string;
  readonly runs: number;
  readonly low: number;
  readonly median: number;
  readonly high: number;
  /** Standard deviation between runs, in `unit`; null of a single run. */
  readonly spread: number | null;
}

export interface GoldenShowResult {
  readonly schema: 'mbforensics/golden-show@1';
  readonly name: string;
  /** Path of the store or of the golden file. */
  readonly source: string;
  readonly runs: readonly Measurement[];
  readonly bands: readonly NoiseBand[];
}

/** `golden add`, `import`, `export` and `remove`. */
export interface GoldenChangeResult {
  readonly schema: 'mbforensics/golden-change@1';
  readonly change: 'added' | 'written' | 'removed';
  readonly name: string;
  /** That it has now; of `removed`, that it had. */
  readonly runs: number;
  /** Store or file. */
  readonly where: string;
}
