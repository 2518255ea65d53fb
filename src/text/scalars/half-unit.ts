/**
 * Half of the distance to the next number that a floating point type can hold: 2 KiB for 60 GB in a float of four
 * bytes, which is what most trackers keep. Whole numbers that the fraction holds are exact.
 *
 * @param fractionBits the leading one included: 24 for a float, 53 for a double
 */
export function halfUnit(value: number, fractionBits: number): number {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size === 0 || fractionBits >= 53) return 0;
  if (Number.isInteger(value) && size <= 2 ** fractionBits) return 0;
  return 2 ** (Math.floor(Math.log2(size)) - fractionBits);
}

/** Bits of the fraction, the leading one included. */
export const FRACTION_BITS = { float: 24, double: 53, bfloat16: 8, half: 11 } as const;
