/** The counters of `torch.cuda.memory_stats()` over all pools. */

/** A running value and the highest it has been. */
export interface Gauge {
  current: number;
  peak: number;
}

/** Names follow `memory_stats`: `allocatedBytes` is `allocated_bytes.all`, and so on. */
export interface AllocatorStatistics {
  /** Number of blocks handed out. */
  readonly allocation: Gauge;
  /** Number of cudaMalloc segments; expandable ones are not counted. */
  readonly segment: Gauge;
  readonly allocatedBytes: Gauge;
  /** Allocated plus pending free. */
  readonly activeBytes: Gauge;
  /** Obtained from the driver. */
  readonly reservedBytes: Gauge;
  readonly requestedBytes: Gauge;
  /** Free blocks of partly used cudaMalloc segments: what a flush cannot give back. */
  readonly inactiveSplit: Gauge;
  readonly inactiveSplitBytes: Gauge;
  /** Blocks and segments of at least `max_split_size`. */
  readonly oversizeAllocations: Gauge;
  readonly oversizeSegments: Gauge;
  /**
   * How often a final flush was followed by another attempt at the driver; one per flush that a failing allocation
   * forced.
   */
  numAllocRetries: number;
  numOoms: number;
  /** Successful cudaMalloc and cuMemMap calls, cudaFree and cuMemUnmap calls. */
  numDeviceAllocs: number;
  numDeviceFrees: number;
}

export function createStatistics(): AllocatorStatistics {
  const gauge = (): Gauge => ({ current: 0, peak: 0 });
  return {
    allocation: gauge(),
    segment: gauge(),
    allocatedBytes: gauge(),
    activeBytes: gauge(),
    reservedBytes: gauge(),
    requestedBytes: gauge(),
    inactiveSplit: gauge(),
    inactiveSplitBytes: gauge(),
    oversizeAllocations: gauge(),
    oversizeSegments: gauge(),
    numAllocRetries: 0,
    numOoms: 0,
    numDeviceAllocs: 0,
    numDeviceFrees: 0,
  };
}

/** Adds `delta`, which may be negative. */
export function move(gauge: Gauge, delta: number): void {
  gauge.current += delta;
  if (gauge.current > gauge.peak) gauge.peak = gauge.current;
}
