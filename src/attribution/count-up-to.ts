/** How many of the ascending `times` are at or before `time`. */
export function countUpTo(times: Float64Array | Int32Array, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
