/**
 * `mbforensics log outside`: device memory that PyTorch does not hold, over time and by process. Bytes; times in
 * microseconds since 1970.
 */
import type { RowOf } from './row-of.js';

/** How the samples' clock and UTC were laid side by side. */
export interface ClockShift {
  /**
   * UTC less the printed clock; null where unknown: then only files of the same clock are compared. 0 where no file
   * needs it.
   */
  readonly shift_us: number | null;
  /** Files of both kinds of clock are to be compared. */
  readonly is_needed: boolean;
  readonly origin: string;
}

/**
 * Growth: what a straight line through all moments rises by from the first to the last, and how much of the change it
 * explains; null with fewer than three moments in time.
 */
export type OutsideStatistics = Pick<
  RowOf<'outside.points'>,
  'first_bytes' | 'last_bytes' | 'min_bytes' | 'median_bytes' | 'max_bytes' | 'growth_bytes' | 'growth_us' | 'growth_r2'
>;

/** A moment at which both sides are known. */
export type OutsidePoint = Omit<RowOf<'outside.points'>, keyof OutsideStatistics | 'moments' | 'device_bytes'>;

export interface OutsideProcess
  extends Omit<RowOf<'outside.processes'>, 'host' | 'device' | 'gpu' | 'min_bytes' | 'display_path'> {
  /** Whether it is the rank's own; null where unknown. */
  readonly is_own: boolean | null;
  /** Of the last sample. */
  readonly file: string;
}

export interface OutsideMonitor
  extends Omit<
    RowOf<'outside.monitors'>,
    'source_id' | 'display_path' | 'host' | 'device' | 'gpu' | 'timed' | 'total_bytes' | 'min_bytes'
  > {
  readonly file: string;
}

/** Its number is the index of the driver. */
export interface OutsideDevice extends Pick<RowOf<'outside.monitors'>, 'host' | 'device' | 'gpu' | 'total_bytes'> {
  readonly rank: number | null;
  /** How rank and device were joined; null where no rank is. */
  readonly joined_by: string | null;
  readonly monitor: OutsideMonitor | null;
  /** The largest known figure of PyTorch's own counters; later memory use is not in it. */
  readonly peak_reserved_bytes: number | null;
  /**
   * How much of the peak no sample can have seen: PyTorch's peak and the least memory outside it, less the largest
   * sample. Null where nothing was missed.
   */
  readonly missed_bytes: number | null;
  readonly outside: OutsideStatistics | null;
  /** Moments in all; `points` holds at most some hundreds of them, with the extremes. */
  readonly moments: number;
  readonly points: readonly OutsidePoint[];
  readonly processes: readonly OutsideProcess[];
}

export interface OutsideResult {
  readonly schema: 'mbforensics/outside@1';
  readonly run: string;
  readonly clock: ClockShift;
  readonly devices: readonly OutsideDevice[];
  /** What could not be joined or seen, and why. */
  readonly limits: readonly string[];
}
