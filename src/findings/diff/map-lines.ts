/**
 * Which lines of a file are which in another version of it. Between two hunks of an edit all lines move by one
 * distance. So a distance is assumed only where the pairs of lines that it makes outweigh the hunks it needs: a line is
 * paired with itself unless the lines around it moved, and not with another line while those around it stayed.
 *
 * The evidence is every line on any stack, of allocations and of their callers.
 */
import { getOrAdd } from '../../model/group-by.js';
import { maxOf } from '../../model/lists.js';

/** A line that is on a stack. */
export interface FileLine {
  readonly line: number;
  readonly functions: ReadonlySet<string>;
  /** Allocations through it and their bytes; null where the lineOfB side's cannot be compared with them. */
  readonly allocs: number | null;
  readonly bytes: number | null;
}

export interface LineMap {
  /** Where a line of a would be in b. */
  to(line: number): number;
  /** Lines on the stacks of both sides, in the order of a. */
  readonly pairs: ReadonlyMap<number, number>;
  /** Functions of these lines. */
  readonly mappedFunctions: ReadonlySet<string>;
}

/** Of the sum of what pairs are worth, each at most 1: one that is alike to the last is worth one hunk, and not two. */
const HUNK = 0.9;
/** What a line is worth that stayed where it was, however much less or more it allocates. */
const SAME_PLACE = 0.3;
/** Of lines that are equally alike by what is live: less than a hunk, so that a pair alone does not make one. */
const LIVE_CERTAINTY = 0.85;
/** Likeness of lines whose allocations cannot be compared. */
const NOT_COMPARED = 0.5;
const MOST_SHIFTS = 64;
/** Lines of one function that propose distances; generated code has thousands. */
const MOST_PROPOSING = 64;

/** Both in ascending order of line, each line once. `isTraced`: counts are of whole traces, not of what is live. */
export function mapLines(a: readonly FileLine[], b: readonly FileLine[], isTraced: boolean): LineMap {
  const certainty = isTraced ? 1 : LIVE_CERTAINTY;
  const byLine = new Map(b.map((entry) => [entry.line, entry]));
  const shifts = proposeShifts(a, b, certainty);
  const chosen = cheapestShifts(a, byLine, shifts, certainty);
  const pairs = new Map<number, number>();
  const taken = new Map<number, { readonly line: number; readonly worth: number }>();
  for (const [i, entry] of a.entries()) {
    const lineOfB = byLine.get(entry.line + chosen[i]!);
    const worth = lineOfB === undefined ? 0 : worthOf(entry, lineOfB, certainty);
    if (worth === 0) continue;
    const earlier = taken.get(lineOfB!.line);
    if (earlier !== undefined && earlier.worth >= worth) continue;
    if (earlier !== undefined) pairs.delete(earlier.line);
    taken.set(lineOfB!.line, { line: entry.line, worth });
    pairs.set(entry.line, lineOfB!.line);
  }
  const lines = a.map(({ line }) => line);
  const mappedFunctions = new Set<string>();
  for (const { line, functions } of a) if (pairs.has(line)) for (const name of functions) mappedFunctions.add(name);
  return {
    pairs,
    mappedFunctions,
    to(line) {
      // The shift of the last line of a that is not behind it.
      let [low, high] = [0, lines.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (lines[middle]! <= line) low = middle + 1;
        else high = middle;
      }
      return line + (low === 0 ? 0 : chosen[low - 1]!);
    },
  };
}

/** At most 1; 0 for lines without a function in common. */
function worthOf(a: FileLine, b: FileLine, certainty: number): number {
  let isShared = false;
  for (const name of a.functions) if (b.functions.has(name)) isShared = true;
  if (!isShared) return 0;
  const likeness = likenessOf(a, b, certainty);
  return a.line === b.line ? SAME_PLACE + (1 - SAME_PLACE) * likeness : likeness;
}

/** Equal counts of allocations are a sign of one line; and so are equal sizes. */
function likenessOf(a: FileLine, b: FileLine, certainty: number): number {
  if (a.allocs === null || b.allocs === null) return NOT_COMPARED;
  const size = ratio((a.bytes ?? 0) / Math.max(1, a.allocs), (b.bytes ?? 0) / Math.max(1, b.allocs));
  return certainty * (0.5 * (a.allocs === b.allocs ? 1 : 0.6 * ratio(a.allocs, b.allocs)) + 0.5 * size);
}

const ratio = (x: number, y: number): number => (x === y ? 1 : Math.min(x, y) / Math.max(x, y));

/** Distances between lines of the same function, those that most lines agree on; 0 is the first. */
function proposeShifts(a: readonly FileLine[], b: readonly FileLine[], certainty: number): number[] {
  const linesOf = (lines: readonly FileLine[]): Map<string, FileLine[]> => {
    const byFunction = new Map<string, FileLine[]>();
    for (const entry of lines) {
      for (const name of entry.functions) {
        const known = getOrAdd(byFunction, name, () => []);
        if (known.length < MOST_PROPOSING) known.push(entry);
      }
    }
    return byFunction;
  };
  const votes = new Map<number, number>();
  const functionsOfB = linesOf(b);
  for (const [name, lines] of linesOf(a)) {
    for (const entry of lines) {
      for (const lineOfB of functionsOfB.get(name) ?? []) {
        const shift = lineOfB.line - entry.line;
        if (shift !== 0) votes.set(shift, (votes.get(shift) ?? 0) + worthOf(entry, lineOfB, certainty));
      }
    }
  }
  const ranked = [...votes].sort(([s, p], [t, q]) => q - p || Math.abs(s) - Math.abs(t) || s - t);
  return [0, ...ranked.slice(0, MOST_SHIFTS).map(([shift]) => shift)];
}

/** For each line of a its distance: those whose pairs are worth most, less their hunks. The file begins unmoved. */
function cheapestShifts(
  a: readonly FileLine[],
  byLine: ReadonlyMap<number, FileLine>,
  shifts: readonly number[],
  certainty: number,
): number[] {
  let gain = shifts.map((_, s) => (s === 0 ? 0 : -HUNK));
  const previous: Int16Array[] = [];
  for (const entry of a) {
    const best = gain.indexOf(maxOf(gain));
    const from = new Int16Array(shifts.length);
    gain = gain.map((own, s) => {
      const lineOfB = byLine.get(entry.line + shifts[s]!);
      const isNew = gain[best]! - HUNK > own;
      from[s] = isNew ? best : s;
      return (isNew ? gain[best]! - HUNK : own) + (lineOfB === undefined ? 0 : worthOf(entry, lineOfB, certainty));
    });
    previous.push(from);
  }
  const chosen: number[] = [];
  let state = gain.indexOf(maxOf(gain));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    chosen[i] = shifts[state]!;
    state = previous[i]![state]!;
  }
  return chosen;
}
