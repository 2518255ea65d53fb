/** What a device takes for what it is asked to do. Rates are what training reaches, not what data sheets say. */
import type { Gpu } from '../../run.js';

export interface Costs {
  /** Floating-point operations per µs of matrix products in bf16. */
  readonly flopsPerUs: number;
  /** Bytes per µs of kernels that only move memory. */
  readonly bytesPerUs: number;
  /** Bytes per µs between tensor-parallel ranks, over NVLink. */
  readonly linkBytesPerUs: number;
  /** Bytes per µs between data-parallel ranks. */
  readonly networkBytesPerUs: number;
  /** What waiting for the device costs: its queue runs dry and must be filled again. */
  readonly synchroniseUs: number;
  /** Python's garbage collector, per step: ranks collect at different moments and wait for each other. */
  readonly collectGarbageUs: number;
  /** cudaFree of all that is cached and cudaMalloc of it in the next step, per byte reserved. */
  readonly emptyCacheUsPerByte: number;
  /** A kernel launch. */
  readonly launchUs: number;
}

/** Part of a collective that products beside it do not hide. */
export const EXPOSED = { tensor: 0.18, data: 0.12 } as const;

const HOPPER: Costs = {
  flopsPerUs: 989e6 * 0.52,
  bytesPerUs: 2.6e6,
  linkBytesPerUs: 1.1e5,
  networkBytesPerUs: 0.9e5,
  synchroniseUs: 1_700,
  collectGarbageUs: 18_000,
  emptyCacheUsPerByte: 1e-6,
  launchUs: 5,
};

const AMPERE: Costs = {
  ...HOPPER,
  flopsPerUs: 312e6 * 0.6,
  bytesPerUs: 1.5e6,
  linkBytesPerUs: 0.5e5,
  networkBytesPerUs: 0.5e5,
  synchroniseUs: 4_200,
  collectGarbageUs: 45_000,
  emptyCacheUsPerByte: 2.2e-6,
};

export function costsOf({ name }: Gpu): Costs {
  return /\b[AL]\d/.test(name) ? AMPERE : HOPPER;
}
