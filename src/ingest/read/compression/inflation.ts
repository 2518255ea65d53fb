/** How far compressed bytes may inflate. */
import { MbfError } from '../../../model/errors.js';
import type { Note } from '../../../model/tables.js';
import { formatBytes } from '../../../model/units.js';

export interface InflationLimits {
  readonly maxInflatedBytes: number;
  readonly ratioFloorBytes: number;
  readonly maxRatio: number;
}

/** Hands out pieces in order; a piece stays valid until the next call. Undefined at the end. */
export interface Chunks {
  next(): Promise<Uint8Array | undefined>;
  /** Ends reading early; returns once nothing touches the file any more. */
  stop(): Promise<void>;
  /** See `OpenedSource.notes`. */
  notes?(): Note[];
}

/** The error for what has come out so far, if it is too much. */
export function inflationFault(
  format: 'gzip' | 'zstd',
  inflatedBytes: number,
  compressedBytes: number,
  limits: InflationLimits,
): MbfError | undefined {
  const from = `${formatBytes(compressedBytes)} of ${format} inflated to ${formatBytes(inflatedBytes)} and more`;
  if (inflatedBytes > limits.maxInflatedBytes) {
    const limit = `the limit is ${formatBytes(limits.maxInflatedBytes)}`;
    return new MbfError('MBF2005', `${from}; ${limit}`, { offset: limits.maxInflatedBytes });
  }
  if (inflatedBytes > limits.ratioFloorBytes && inflatedBytes > limits.maxRatio * compressedBytes) {
    const limit = `above ${formatBytes(limits.ratioFloorBytes)} the limit is ${limits.maxRatio} to 1`;
    return new MbfError('MBF2005', `${from}; ${limit}`, { offset: inflatedBytes });
  }
  return undefined;
}
