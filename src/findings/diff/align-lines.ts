/**
 * Lines of one function in two versions of its file. An edit above shifts all of them alike, an edit between them some:
 * so both lists, in ascending order of line, are aligned like two texts, where what a line allocates gives the likeness
 * of two lines.
 */

export interface AllocatingLine {
  readonly line: number;
  readonly bytes: number;
  readonly count: number;
  /** Two 32-bit filters of the functions around the line on its stacks. */
  readonly around: readonly [number, number];
}

/**
 * Leaving a line without a counterpart. Any pair costs less than two of these, so lines stay alone only where one side
 * has more.
 */
const ALONE = 1;
const OTHER_LINE = 0.3;
/** A line that moved as most lines of the function did. */
const SHIFTED_LINE = 0.05;
/**
 * The table of one alignment has at most this many cells; generated code has functions of thousands of allocating
 * lines.
 */
const MOST_CELLS = 4096;

/** Pairs of rows, ascending; both lists must ascend by line. */
export function alignLines(a: readonly AllocatingLine[], b: readonly AllocatingLine[]): [number, number][] {
  const pairs: [number, number][] = [];
  alignRange(a, b, 0, a.length, 0, b.length, pairs);
  return pairs;
}

function alignRange(
  a: readonly AllocatingLine[],
  b: readonly AllocatingLine[],
  fromA: number,
  toA: number,
  fromB: number,
  toB: number,
  pairs: [number, number][],
): void {
  const rows = toA - fromA;
  const columns = toB - fromB;
  if (rows === 0 || columns === 0) return;
  const shift = commonShift(a, b, fromA, toA, fromB, toB);
  if (rows * columns <= MOST_CELLS) {
    cheapest(a, b, fromA, toA, fromB, toB, shift, pairs);
    return;
  }
  // Too many for a table: lines that are where the common shift puts them are fixed points, and only what is between
  // them is aligned.
  const anchors: [number, number][] = [];
  for (let i = fromA, j = fromB; i < toA && j < toB; ) {
    const difference = b[j]!.line - a[i]!.line - shift;
    if (difference === 0) anchors.push([i, j]);
    if (difference >= 0) i += 1;
    if (difference <= 0) j += 1;
  }
  let i = fromA;
  let j = fromB;
  for (const [x, y] of [...anchors, [toA, toB] as [number, number]]) {
    // Without a fixed point the range would come back unchanged: in such a function the lines cannot be distinguished.
    if (anchors.length > 0) alignRange(a, b, i, x, j, y, pairs);
    if (x < toA && y < toB) pairs.push([x, y]);
    i = x + 1;
    j = y + 1;
  }
}

/** The distance by which most lines have moved, weighted by how alike they are; 0 if no other has more. */
function commonShift(
  a: readonly AllocatingLine[],
  b: readonly AllocatingLine[],
  fromA: number,
  toA: number,
  fromB: number,
  toB: number,
): number {
  const votes = new Map<number, number>();
  const largestB = largest(b, fromB, toB);
  for (const x of largest(a, fromA, toA)) {
    for (const y of largestB) {
      const shift = y.line - x.line;
      votes.set(shift, (votes.get(shift) ?? 0) + Math.round(100 * (1 - unlike(x, y))));
    }
  }
  let best = 0;
  let most = votes.get(0) ?? 0;
  for (const [shift, vote] of votes) {
    if (vote > most || (vote === most && best !== 0 && closer(shift, best))) {
      best = shift;
      most = vote;
    }
  }
  return best;
}

/** As many as a table of them may have cells, in a order that does not depend on the other side. */
function largest(lines: readonly AllocatingLine[], from: number, to: number): readonly AllocatingLine[] {
  const range = lines.slice(from, to);
  const most = Math.sqrt(MOST_CELLS);
  if (range.length <= most) return range;
  return range.sort((x, y) => y.bytes - x.bytes || x.line - y.line).slice(0, most);
}

const closer = (shift: number, than: number): boolean =>
  Math.abs(shift) < Math.abs(than) || (Math.abs(shift) === Math.abs(than) && shift > than);

/** 0 for lines that allocate alike, 1 for lines that have nothing in common. */
function unlike(a: AllocatingLine, b: AllocatingLine): number {
  const ratio = (x: number, y: number): number => (x === y ? 1 : Math.min(x, y) / Math.max(x, y));
  const size = ratio(a.bytes / Math.max(1, a.count), b.bytes / Math.max(1, b.count));
  const count = ratio(a.count, b.count);
  const both = bits(a.around[0] & b.around[0]) + bits(a.around[1] & b.around[1]);
  const either = bits(a.around[0] | b.around[0]) + bits(a.around[1] | b.around[1]);
  const around = either === 0 ? 1 : both / either;
  return 0.5 * (1 - size) + 0.2 * (1 - count) + 0.3 * (1 - around);
}

function bits(value: number): number {
  value -= (value >>> 1) & 0x5555_5555;
  value = (value & 0x3333_3333) + ((value >>> 2) & 0x3333_3333);
  return Math.imul((value + (value >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** Needleman-Wunsch; of equally cheap alignments, the one whose pairs come first. */
function cheapest(
  a: readonly AllocatingLine[],
  b: readonly AllocatingLine[],
  fromA: number,
  toA: number,
  fromB: number,
  toB: number,
  shift: number,
  pairs: [number, number][],
): void {
  const rows = toA - fromA;
  const columns = toB - fromB;
  const width = columns + 1;
  const cost = new Float64Array((rows + 1) * width);
  const step = new Uint8Array(cost.length);
  for (let i = rows; i >= 0; i -= 1) {
    for (let j = columns; j >= 0; j -= 1) {
      const at = i * width + j;
      if (i === rows || j === columns) {
        cost[at] = ALONE * (rows - i + columns - j);
        step[at] = i === rows ? 2 : 1;
        continue;
      }
      const x = a[fromA + i]!;
      const y = b[fromB + j]!;
      const moved = y.line - x.line;
      const place = moved === 0 ? 0 : moved === shift ? SHIFTED_LINE : OTHER_LINE;
      const pair = cost[at + width + 1]! + place + unlike(x, y);
      const skipA = cost[at + width]! + ALONE;
      const skipB = cost[at + 1]! + ALONE;
      const least = Math.min(pair, skipA, skipB);
      cost[at] = least;
      step[at] = pair === least ? 0 : skipA === least ? 1 : 2;
    }
  }
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    const taken = step[i * width + j];
    if (taken === 0) {
      pairs.push([fromA + i, fromB + j]);
      i += 1;
      j += 1;
    } else if (taken === 1) i += 1;
    else j += 1;
  }
}
