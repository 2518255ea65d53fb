/** Numbers as CPython sums and prints them, so that an upstream figure is repeated to its last digit. */

/**
 * `f"{value:.2f}"`: rounds the exact binary value, ties to even. JavaScript's `toFixed` rounds ties up (54905.625 →
 * 54905.63, upstream prints .62).
 */
export function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  // Half of the last digit is m / 2^(digits + 1) with m odd: the only doubles exactly between two texts.
  if (Math.abs((value * 2 ** (digits + 1)) % 2) !== 1) return text;
  const scale = 10 ** digits;
  const below = Math.floor(value * scale);
  return ((below % 2 === 0 ? below : below + 1) / scale).toFixed(digits);
}

/** `f"{value: .2f}"`: a blank in place of a minus. */
export function fixedWithBlank(value: number, digits: number): string {
  return value < 0 ? fixed(value, digits) : ` ${fixed(value, digits)}`;
}

/**
 * `sum()` of floats: since CPython 3.12 compensated after Neumaier, so that thirds of many layers add up without drift.
 */
export function pythonSum(values: Iterable<number>): number {
  let sum = 0;
  let lost = 0;
  for (const value of values) {
    const total = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - total + value : value - total + sum;
    sum = total;
  }
  return sum + lost;
}
