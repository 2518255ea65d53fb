/** The clock of a report: ns since the start of the collection, from the simulation's µs. */

/** The collection starts that long after the job. */
const LATE_US = 2_413_508;
/** How far the snapshot's clock is ahead of the report's: the profiler converts counters, and so does torch. */
const SKEW_NS = 214_417;

export interface ReportClock {
  /** UTC of time 0 as the report has it. Beyond 2^53. */
  readonly utcEpochNs: bigint;
  /** A moment of the simulation. Moments in order stay in order. */
  ns(us: number): number;
}

export function reportClock(launchUs: number): ReportClock {
  const startUs = launchUs + LATE_US;
  return {
    utcEpochNs: BigInt(startUs) * 1000n - BigInt(SKEW_NS),
    ns(us) {
      const whole = Math.floor(us - startUs);
      return whole * 1000 + digits(whole) + Math.floor((us - startUs - whole) * 400);
    },
  };
}

/** The simulation counts in whole µs; a real clock does not. From 0 to 599. */
function digits(us: number): number {
  return (Math.imul(us, 0x9e37_79b1) >>> 8) % 600;
}
