/**
 * Words in changed lines that suggest memory, or time. They are matched, not understood: they decide between otherwise
 * equal hunks, and never decide alone.
 */
import { loadData } from '../../knowledge/load-data.js';
import type { Component } from '../../model/vocabulary.js';
import type { Growth } from './growth.js';

/** A pattern for a line, and the same for counting. */
interface Word {
  readonly one: RegExp;
  readonly all: RegExp;
}

const PATTERNS = loadData('memory-words') as Readonly<Record<string, readonly string[]>>;

/** `(?i)` at the start of a pattern ignores case. */
const wordsOf = (list: string): Word[] =>
  (PATTERNS[list] ?? []).map((pattern) => {
    const source = pattern.replace(/^\(\?i\)/, '');
    const flags = source === pattern ? '' : 'i';
    return { one: new RegExp(source, `${flags}m`), all: new RegExp(source, `${flags}gm`) };
  });

const WORD_SHOWN = 60;

/** Free memory, or prevent it from being held: without them memory grows. */
const RELEASES = wordsOf('releases');
/** Hold tensors made elsewhere. */
const RETAINS = wordsOf('retains');
/** Allocate memory, or more of it. */
const GROWS = wordsOf('grows');
/** Wait, copy to the host, or do work again. */
const SLOWS = wordsOf('slows');
/** Without them a step is slower. */
const SPEEDS = wordsOf('speeds');

/** Signs of growth; the first text of each kind, for the reader. */
export interface WordSigns {
  /** Removed: what freed. */
  readonly releases: string | null;
  /** Added: what holds. */
  readonly retains: string | null;
  /** Added: what allocates. */
  readonly grows: string | null;
}

/** @param removed, added code without strings and comments, of lines that really differ */
export function memorySigns(removed: readonly string[], added: readonly string[]): WordSigns {
  return {
    releases: surplus(RELEASES, removed, added),
    retains: surplus(RETAINS, added, removed),
    grows: surplus(GROWS, added, removed),
  };
}

/** A word that makes steps slower by being added, or by being removed. */
export function timeSign(removed: readonly string[], added: readonly string[]): string | null {
  return surplus(SLOWS, added, removed) ?? surplus(SPEEDS, removed, added);
}

/** The first word that `more` has more often than `less`. */
function surplus(list: readonly Word[], more: readonly string[], less: readonly string[]): string | null {
  const [those, these] = [more.join('\n'), less.join('\n')];
  for (const { one, all } of list) {
    const match = one.exec(those)?.[0];
    if (match === undefined) continue;
    if ((those.match(all)?.length ?? 0) > (these.match(all)?.length ?? 0)) return match.trim().slice(0, WORD_SHOWN);
  }
  return null;
}

export function hasRelease(line: string): boolean {
  return RELEASES.some(({ one }) => one.test(line));
}

/** Components whose code is in a place, by words in the paths of Megatron-LM, Megatron Bridge and NeMo. */
const PLACES = new Map(
  Object.entries(
    (loadData('memory-words') as { readonly components: Readonly<Record<string, string>> }).components,
  ).map(([component, pattern]) => [component, new RegExp(pattern, 'i')]),
);

/** How much of what grew is of components that a text names; the largest of them. */
export function componentWords(
  text: string,
  growth: Growth,
): { readonly share: number; readonly component: Component | undefined } {
  let bytes = 0;
  let component: Component | undefined;
  let largest = 0;
  for (const [one, { delta_bytes }] of growth.components) {
    if (delta_bytes <= 0 || PLACES.get(one)?.test(text) !== true) continue;
    bytes += delta_bytes;
    if (delta_bytes > largest) [component, largest] = [one, delta_bytes];
  }
  return { share: growth.component_bytes === 0 ? 0 : bytes / growth.component_bytes, component };
}
