/** The driver of a process under a profiler: the same memory, but every call takes time and is reported. */

import { GIB } from '../../../../src/model/units.js';
import { between, type Random } from '../random.js';
import type { SimulatedDriver } from '../simulated-driver.js';

/** cudaMalloc or cudaFree. Times are the simulation's, µs. */
export interface ObservedCall {
  readonly kind: 'malloc' | 'free';
  readonly bytes: number;
  /** Null: the device lacked the memory. */
  readonly address: number | null;
  readonly startUs: number;
  readonly endUs: number;
}

export type DriverObserver = (call: ObservedCall) => void;

export interface Observation {
  now(): number;
  pass(us: number): void;
  readonly random: Random;
  readonly observer: DriverObserver;
}

/** µs of a call, and those of each GiB that it maps or unmaps. */
const COSTS = { malloc: [90, 160, 450], refused: [210, 340, 0], free: [60, 130, 180] } as const;

export function observedDriver(driver: SimulatedDriver, { now, pass, random, observer }: Observation): SimulatedDriver {
  const tell = (kind: ObservedCall['kind'], bytes: number, address: number | null): void => {
    const startUs = now();
    const [least, most, perGib] = COSTS[address === null ? 'refused' : kind];
    pass(between(random, least, most) + (perGib * bytes) / GIB);
    observer({ kind, bytes, address, startUs, endUs: now() });
  };
  return {
    ...driver,
    malloc(bytes) {
      const address = driver.malloc(bytes);
      tell('malloc', bytes, address);
      return address;
    },
    free(address, bytes) {
      driver.free(address, bytes);
      tell('free', bytes, address);
    },
  };
}
