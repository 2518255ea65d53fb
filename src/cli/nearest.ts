/** What a mistyped word may have been meant to be. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Words in the order of their distance; none that has less in common with `given` than a typo leaves. */
export function nearest(given: string, words: Iterable<string>, most = 3): string[] {
  const limit = Math.max(1, Math.floor(given.length * 0.4));
  return [...new Set(words)]
    .map((word) => ({ word, distance: word.startsWith(given) && given.length > 1 ? 0.5 : distanceOf(given, word) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance || (a.word < b.word ? -1 : 1))
    .slice(0, most)
    .map(({ word }) => word);
}

/** `; did you mean a or b?`, or nothing. */
export function didYouMean(given: string, words: Iterable<string>): string {
  const near = nearest(given, words);
  return near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
}

/** Changes of one character, exchanges of neighbours included: the optimal string alignment. */
function distanceOf(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > a.length) return Number.POSITIVE_INFINITY;
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(change, last[j]! + 1, row[j - 1]! + 1, isExchange ? before[j - 2]! + 1 : change));
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}

/** Names of a folder that are compared with a missing one. */
const MOST_NAMES = 10_000;

/** What there is where a path was expected: the nearest name, or the folder that exists; undefined for the root. */
export function existingNear(path: string): string | undefined {
  let [folder, name] = [dirname(path), basename(path)];
  while (!existsSync(folder)) [folder, name] = [dirname(folder), basename(folder)];
  const names = namesIn(folder);
  const near = nearest(name, names.slice(0, MOST_NAMES)).map((one) => join(folder, one));
  if (near.length > 0) return `Did you mean ${near.join(' or ')}?`;
  if (dirname(folder) === folder) return undefined;
  return `${folder === '.' ? 'This directory' : `The directory ${folder}`} exists, without ${name}.`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
