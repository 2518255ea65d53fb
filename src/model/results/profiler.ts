/** What `profile` returns: memory timelines of torch.profiler. */
import type { ProfilerCategory } from '../vocabulary.js';

/** Bytes of every category at one moment. They add up to `total_bytes`. */
export interface ProfilerMoment {
  /** Unix time in microseconds, by the profiler's clock; null before the profiler started. */
  readonly time_us: number | null;
  /** Since the first timed entry. */
  readonly since_start_us: number | null;
  /** The event, or the point in time, after which it was so; from 0. */
  readonly ordinal: number;
  readonly total_bytes: number;
  readonly categories: Readonly<Record<ProfilerCategory, number>>;
}

/** One category by itself. */
export interface ProfilerCategoryResult {
  readonly category: ProfilerCategory;
  /** When the sum of all categories was largest. */
  readonly at_peak_bytes: number;
  readonly max_bytes: number;
  readonly max_since_start_us: number | null;
  /** Below zero where the profiler's own bookkeeping frees more than it made. */
  readonly min_bytes: number;
  readonly end_bytes: number;
}

export interface ProfilerTimeline {
  readonly path: string;
  readonly rank: number | null;
  /**
   * `events`: each allocation by itself. `sums`: totals at points in time, at most one a microsecond. Null for an empty
   * timeline.
   */
  readonly form: 'events' | 'sums' | null;
  /** Events, or points in time. */
  readonly entries: number;
  readonly start_time_us: number | null;
  readonly span_us: number | null;
  /** What existed before the profiler started; null for sums, whose first point mixes it with what came then. */
  readonly preexisting: ProfilerMoment | null;
  /** The largest sum of all categories; null for an empty timeline. */
  readonly peak: ProfilerMoment | null;
  /** All eight, in descending order of their bytes at the peak. */
  readonly categories: readonly ProfilerCategoryResult[];
  /** Equal intervals, each represented by the moment of its largest total; intervals without an entry are left out. */
  readonly points: readonly ProfilerMoment[];
}

export interface ProfilerMemoryResult {
  readonly schema: 'mbforensics/profiler-memory@1';
  readonly run: string;
  readonly timelines: readonly ProfilerTimeline[];
}
