/** Rows by a key, as columns: millions of rows have too many groups for an object each. */

/** Groups are in the order of their first rows, and the rows of each in theirs. */
export interface RowGroups {
  readonly count: number;
  readonly rows: Int32Array;
  /** By group: index of its first row; one more for where the last group ends. */
  readonly starts: Int32Array;
}

/** `keys` by row, below `most`; −1 = of no group. */
export function groupRows(keys: Int32Array, most: number): RowGroups {
  const groupOf = new Int32Array(most).fill(-1);
  const sizes: number[] = [];
  let total = 0;
  for (let row = 0; row < keys.length; row += 1) {
    const key = keys[row]!;
    if (key < 0) continue;
    if (groupOf[key]! < 0) groupOf[key] = sizes.push(0) - 1;
    sizes[groupOf[key]!]! += 1;
    total += 1;
  }
  const starts = new Int32Array(sizes.length + 1);
  sizes.forEach((size, group) => {
    starts[group + 1] = starts[group]! + size;
  });
  const rows = new Int32Array(total);
  const next = starts.slice();
  for (let row = 0; row < keys.length; row += 1) if (keys[row]! >= 0) rows[next[groupOf[keys[row]!]!]!++] = row;
  return { count: sizes.length, rows, starts };
}
