/** A stable sort of many numbers without a comparison: a picture of 200,000 blocks is sorted while the page opens. */

const DIGIT_BITS = 16;
const DIGITS = 1 << DIGIT_BITS;

/** Indices of `values` in ascending order; equal ones by index. The values must not be negative or NaN. */
export function orderByAscending(values: Float64Array): Uint32Array {
  const count = values.length;
  // The bits of a double that is not negative, read as an integer, are in the order of the doubles.
  const words = new Uint16Array(values.buffer, values.byteOffset, count * 4);
  let order = new Uint32Array(count);
  for (let i = 0; i < count; i += 1) order[i] = i;
  let next = new Uint32Array(count);
  const starts = new Uint32Array(DIGITS + 1);
  for (let digit = 0; digit < 4; digit += 1) {
    starts.fill(0);
    for (let i = 0; i < count; i += 1) starts[words[i * 4 + digit]! + 1]! += 1;
    // All have the same digit: the order stays.
    if (count > 0 && starts[words[digit]! + 1] === count) continue;
    for (let i = 0; i < DIGITS; i += 1) starts[i + 1]! += starts[i]!;
    for (let at = 0; at < count; at += 1) {
      const i = order[at]!;
      const word = words[i * 4 + digit]!;
      next[starts[word]!] = i;
      starts[word]! += 1;
    }
    [order, next] = [next, order];
  }
  return order;
}
