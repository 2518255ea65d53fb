/** Least relative changes that count, and the assumed variation of figures where a single golden run cannot show it. */
import { MbfError } from '../../model/errors.js';

export interface Tolerances {
  /** Peaks of memory, whole and by component or site. */
  readonly memory: number;
  /** Step time and throughput. */
  readonly time: number;
  readonly loss: number;
}

/**
 * The allocator repeats itself: identical runs differ in allocated memory by rounding and by what depends on data, such
 * as routing.
 */
export const DEFAULT_TOLERANCES: Tolerances = { memory: 0.02, time: 0.03, loss: 0.05 };
/**
 * Relative standard deviations between runs of the same thing on the same cluster. Memory is repeated but for what
 * depends on data.
 */
export const ASSUMED = { memory: 0.0005, time: 0.004 } as const;

/** `memory=1%,time=0.05`. Throws MBF1001. */
export function parseTolerances(text: string | undefined): Tolerances {
  const given: Record<string, number> = {};
  for (const part of text === undefined ? [] : text.split(',')) {
    const match = /^\s*(memory|time|loss)\s*=\s*(\d{1,3}(?:\.\d{1,6})?)\s*(%?)\s*$/.exec(part);
    if (match === null)
      throw new MbfError('MBF1001', `--tolerance ${JSON.stringify(part)} is none; write memory=1%,time=3%,loss=5%`);
    given[match[1]!] = Number(match[2]) / (match[3] === '%' ? 100 : 1);
  }
  return { ...DEFAULT_TOLERANCES, ...given };
}
