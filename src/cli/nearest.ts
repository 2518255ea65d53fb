/** What a mistyped word may have been meant to be. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { nearest } from '../knowledge/nearest.js';

/** Names that are suggested. */
const MOST_SUGGESTED = 3;

/** `; did you mean a or b?`, or nothing. */
export function didYouMean(given: string, words: readonly string[]): string {
  const near = nearest(given, words, MOST_SUGGESTED);
  return near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
}

/** Names of a folder that are compared with a missing one. */
const MOST_NAMES = 10_000;

/** What there is where a path was expected: the nearest name, or the folder that exists; undefined for the root. */
export function existingNear(path: string): string | undefined {
  let [folder, name] = [dirname(path), basename(path)];
  while (!existsSync(folder)) [folder, name] = [dirname(folder), basename(folder)];
  const names = namesIn(folder);
  const near = nearest(name, names.slice(0, MOST_NAMES), MOST_SUGGESTED).map((one) => join(folder, one));
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
