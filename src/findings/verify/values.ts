/** Whether two spellings of a value mean the same. */

import { plainValue } from '../../derive/run/config.js';
import { allocatorParts, asList } from '../../derive/settings/values.js';
import { sentencesOf } from '../../model/statement.js';

/** By code, of `src/knowledge/words/verify.yaml`. */
export const textOf = sentencesOf('verify');

/** `null` and what is not set are the same here: frameworks print the one for the other. */
export function sameValue(a: string | null, b: string | null): boolean {
  const [x, y] = [plainValue(a), plainValue(b)];
  if (x === y) return true;
  const [left, right] = [asList(a), asList(b)];
  if (left === null || right === null || (left.length < 2 && right.length < 2 && !/^\[/.test(`${a}${b}`))) return false;
  return [...left].sort().join() === [...right].sort().join();
}

/** What an allocator setting has to contain and must not contain, for a change to be in force. */
export interface WantedParts {
  readonly present: readonly string[];
  readonly absent: readonly string[];
}

export function wantedParts(from: string | null, to: string | null): WantedParts {
  const [before, after] = [allocatorParts(from), allocatorParts(to)];
  const keys = new Set(after.map(keyOf));
  return {
    present: after.filter((part) => !before.includes(part)),
    absent: before.filter((part) => !after.includes(part) && !keys.has(keyOf(part))),
  };
}

const keyOf = (part: string): string => part.split(':')[0]!;

export function hasParts(text: string | null, { present, absent }: WantedParts): boolean {
  const parts = allocatorParts(text).map((part) => part.toLowerCase());
  return (
    present.every((part) => parts.includes(part.toLowerCase())) &&
    !absent.some((part) => parts.includes(part.toLowerCase()))
  );
}
