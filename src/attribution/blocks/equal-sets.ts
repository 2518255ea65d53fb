/** Blocks with the sizes of a set: copies of parameters, gradients, states. */
import { type Lives, sizeOf } from './lives.js';
import { SizeCounts } from './size-counts.js';

/** A set of blocks is a copy of the parameters if it has so much of their bytes, size by size. */
const LEAST_COVERAGE = 0.8;

export interface EqualSet {
  readonly rows: readonly number[];
  readonly ratio: number;
  /** Of all parameters. */
  readonly isWhole: boolean;
}

/** The rows of `from` that make the fullest set of `sizes` at one of the ratios; undefined if none covers enough. */
export function equalSet(
  lives: Lives,
  from: readonly number[],
  sizes: SizeCounts,
  ratios: readonly number[],
): EqualSet | undefined {
  let best: EqualSet | undefined;
  let most = LEAST_COVERAGE;
  for (const ratio of ratios) {
    const wanted = new SizeCounts();
    for (const [size, count] of sizes) wanted.add(Math.max(512, Math.ceil((size * ratio) / 512) * 512), count);
    const whole = wanted.bytes;
    const rows = from.filter((row) => wanted.take(sizeOf(lives, row)));
    const coverage = (whole - wanted.bytes) / whole;
    if (coverage > most) {
      most = coverage;
      best = { rows, ratio, isWhole: true };
    }
  }
  return best;
}
