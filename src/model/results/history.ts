/** What `history` returns: one figure of many runs, and where it took a new level. */

export interface HistoryMetric {
  /** `bytes`, `ms`, `TFLOP/s/GPU`, `count`, or `1` for a bare number. */
  readonly unit: 'bytes' | 'ms' | 'TFLOP/s/GPU' | 'count' | '1';
  /** Which way is for the worse. */
  readonly worse: 'higher' | 'lower';
  readonly title: string;
}

/** Figures a history can be of. Peaks are the largest over ranks and devices. */
export const HISTORY_METRICS = {
  peak_allocated_bytes: { unit: 'bytes', worse: 'higher', title: 'peak allocated memory' },
  peak_active_bytes: { unit: 'bytes', worse: 'higher', title: 'peak active memory' },
  peak_reserved_bytes: { unit: 'bytes', worse: 'higher', title: 'peak reserved memory' },
  step_ms: { unit: 'ms', worse: 'higher', title: 'median step time' },
  tflops_per_gpu: { unit: 'TFLOP/s/GPU', worse: 'lower', title: 'median throughput' },
  loss: { unit: '1', worse: 'higher', title: 'last loss' },
  ooms: { unit: 'count', worse: 'higher', title: 'out-of-memory failures' },
  alloc_retries: { unit: 'count', worse: 'higher', title: 'allocation retries' },
} as const satisfies Record<string, HistoryMetric>;
export type HistoryMetricName = keyof typeof HISTORY_METRICS;
export const HISTORY_METRIC_NAMES = Object.keys(HISTORY_METRICS) as HistoryMetricName[];

export const HISTORY_AXES = ['commit', 'run'] as const;
export type HistoryAxis = (typeof HISTORY_AXES)[number];

/** `ok`: no failure in the last launch. `oom`: it ran out of memory. `failed`: of something else. */
export type HistoryEnding = 'ok' | 'oom' | 'failed';

/** The runs of one commit, or one run. */
export interface HistoryPoint {
  readonly commit: string | null;
  /** The one ingested last, if there are several. */
  readonly run: string;
  /** All of them, in the order of their first ingestion. */
  readonly names: readonly string[];
  /** The label that all of them have. */
  readonly label: string | null;
  /** The median over the runs that came to their end, if there are any. */
  readonly value: number;
  /** Least and greatest of these. */
  readonly low: number;
  readonly high: number;
  readonly runs: number;
  /** The worst of them. */
  readonly ending: HistoryEnding;
  /** Read off a trace in requested sizes, or off one that contradicts itself. */
  readonly approximate: boolean;
  /** The figure is a lower bound: every run failed, or only the state at a dump is known. */
  readonly is_lower_bound: boolean;
}

export interface HistoryChange {
  /** Of the first point that shows the new level, in `points`. */
  readonly index: number;
  readonly commit: string | null;
  readonly run: string;
  /** Of the last point at the old level: the runs in between failed too early. */
  readonly previous_commit: string | null;
  readonly previous_run: string;
  /** Medians of the points between this change and its neighbours. */
  readonly before: number;
  readonly after: number;
  readonly delta: number;
  /** delta / |before|; null where that is 0. */
  readonly relative: number | null;
  /** delta over its standard error; null where the series shows no noise. */
  readonly z: number | null;
  /** Every run at the new level failed: `after` is a lower bound. */
  readonly is_lower_bound: boolean;
  /** Whether it is for the worse. */
  readonly is_worse: boolean;
  /** Commits between the two whose level is not known; null without a repository. */
  readonly between: number | null;
}

/** A stretch over which the figure moves steadily: no commit alone made it. */
export interface HistoryDrift {
  /** First and last point, in `points`. */
  readonly from: number;
  readonly to: number;
  readonly before: number;
  readonly after: number;
}

export interface HistoryResult {
  readonly schema: 'mbforensics/history@1';
  readonly metric: HistoryMetricName;
  readonly unit: HistoryMetric['unit'];
  readonly worse: HistoryMetric['worse'];
  readonly by: HistoryAxis;
  /** What the points are ordered by. */
  readonly order: 'repository' | 'ingestion';
  /** Oldest first. */
  readonly points: readonly HistoryPoint[];
  readonly change_points: readonly HistoryChange[];
  readonly drifts: readonly HistoryDrift[];
  /** Single points far off their level: too few for a change. */
  readonly apart: readonly { readonly index: number; readonly level: number }[];
  /** Standard deviation of a point, robust; null where none is to be seen. */
  readonly noise: number | null;
  /** Smallest change reported, as a share of the level before it. */
  readonly min_change: number;
  readonly notes: readonly string[];
  /** Runs that are not part of any point. */
  readonly left_out: readonly { readonly run: string; readonly commit: string | null; readonly reason: string }[];
}

/** A commit as `git rev-list --parents` prints it. */
export interface CommitParents {
  readonly sha: string;
  readonly parents: readonly string[];
}
