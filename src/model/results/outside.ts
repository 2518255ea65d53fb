/**
 * `mbforensics outside`: device memory that PyTorch does not hold, over time and by process. Bytes; times in
 * microseconds since 1970.
 */

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

export interface OutsideStatistics {
  readonly first_bytes: number;
  readonly last_bytes: number;
  readonly min_bytes: number;
  readonly median_bytes: number;
  readonly max_bytes: number;
  /**
   * What a straight line through all moments rises by from the first to the last, and how much of the change it
   * explains; null with fewer than three moments in time.
   */
  readonly growth_bytes: number | null;
  readonly growth_us: number | null;
  readonly growth_r2: number | null;
}

/** A moment at which both sides are known. */
export interface OutsidePoint {
  readonly time_us: number | null;
  readonly clock: string;
  readonly iteration: number | null;
  /** `memory line`, `scalar`, `failure message` or `trace`: the source of PyTorch's figure. */
  readonly kind: string;
  readonly used_bytes: number;
  readonly total_bytes: number | null;
  readonly reserved_bytes: number;
  /** The rank's own process, as the driver sees it; null where no list of processes names it. */
  readonly process_bytes: number | null;
  /** All other processes of the device; null where no list distinguishes them from the rank's own. */
  readonly others_bytes: number | null;
  /** used − reserved. */
  readonly outside_bytes: number;
  /** Time between PyTorch's figure and the sample; null where one record has both. */
  readonly apart_us: number | null;
  readonly file: string | null;
  readonly line: number | null;
}

export interface OutsideProcess {
  readonly pid: number | null;
  readonly process: string | null;
  /** Whether it is the rank's own; null where unknown. */
  readonly is_own: boolean | null;
  readonly samples: number;
  readonly clock: string;
  readonly first_us: number | null;
  readonly last_us: number | null;
  readonly max_bytes: number;
  readonly last_bytes: number;
  /** Of the last sample. */
  readonly file: string;
  readonly line: number;
}

export interface OutsideMonitor {
  readonly file: string;
  readonly format: string;
  readonly clock: string;
  readonly samples: number;
  /** Median distance of two samples. */
  readonly interval_us: number | null;
  readonly first_us: number | null;
  readonly last_us: number | null;
  readonly first_bytes: number;
  readonly last_bytes: number;
  /** The largest sample; the true peak may be between two samples. */
  readonly max_bytes: number;
  readonly max_us: number | null;
  readonly max_line: number;
}

export interface OutsideDevice {
  readonly host: string | null;
  /** Index of the driver. */
  readonly device: number | null;
  readonly gpu: string | null;
  readonly rank: number | null;
  /** How rank and device were joined; null where no rank is. */
  readonly joined_by: string | null;
  readonly total_bytes: number | null;
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
