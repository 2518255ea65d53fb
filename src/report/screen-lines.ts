/**
 * Fits labelled sections into a screen of a given height: what matters least gives way first, nothing is cut inside a
 * number or a name.
 */
import { pushAll } from '../model/lists.js';
import { keepEnd, printable, wrap } from './plain-text.js';
import { screen } from './screen.js';

/** Longer words (paths, symbols) keep their end. */
export const LONGEST_WORD = 64;
const LABEL = 12;
/** Columns for a handle at the right edge. */
const HANDLE = 5;

export interface ScreenItem {
  readonly text: string;
  /** `E3`, at the right edge of the first line. */
  readonly handle?: string;
}

export interface ScreenSection {
  readonly label: string;
  readonly items: readonly ScreenItem[];
  /** Most lines of the section, and lines that it keeps when the screen is full. */
  readonly most: number;
  readonly least: number;
  /** Items follow each other on a line, and are shown whole or not at all (the first may be cut). */
  readonly packed?: boolean;
  /** Items are shown whole or not at all: a sum that is cut no longer adds up. */
  readonly whole?: boolean;
}

/**
 * The sections in their order, in at most `height` lines. `giveWay`: labels in the order in which sections lose a line;
 * a label may occur twice.
 */
export function fitSections(sections: readonly ScreenSection[], height: number, giveWay: readonly string[]): string[] {
  const filled = sections.filter((section) => section.items.length > 0);
  const allowed = new Map(filled.map((section) => [section, sectionLines(section, section.most).length]));
  const total = (): number => [...allowed.values()].reduce((sum, lines) => sum + lines, 0);
  const lose = (label: string, floor: (section: ScreenSection) => number): boolean => {
    const section = filled.find((one) => one.label === label && allowed.get(one)! > floor(one));
    if (section === undefined) return false;
    allowed.set(section, sectionLines(section, allowed.get(section)! - 1).length);
    return true;
  };
  // Takes one line from each label in turn until all fits or no section has a line to spare; then the kept lines go
  // too.
  for (const floor of [(section: ScreenSection) => section.least, () => 0]) {
    for (let lost = true; lost && total() > height; ) {
      lost = false;
      for (const label of giveWay) if (total() > height && lose(label, floor)) lost = true;
    }
  }
  return filled.flatMap((section) => sectionLines(section, allowed.get(section)!)).slice(0, height);
}

/** The lines of one section, at most `most`. */
export function sectionLines(section: ScreenSection, most: number): string[] {
  if (most <= 0 || section.items.length === 0) return [];
  const label = `  ${section.label.padEnd(LABEL)}`;
  const indent = ' '.repeat(label.length);
  const bodies =
    section.packed === true
      ? [packed(section.items, most, section.whole === true)]
      : section.whole === true
        ? [wholeItems(section.items, most)]
        : spread(section.items, most);
  return bodies.flatMap((lines, i) =>
    lines.map((line, j) => {
      const start = `${i === 0 && j === 0 ? label : indent}${line}`;
      const handle = section.packed === true || section.whole === true ? undefined : section.items[i]?.handle;
      return j === 0 && handle !== undefined ? `${start.padEnd(screen.width - handle.length)}${handle}` : start;
    }),
  );
}

/** Width of a section's text. */
export const bodyWidth = (): number => screen.width - LABEL - 2;

/** A line for every item as far as there are lines, what is left to those that need more. */
function spread(items: readonly ScreenItem[], most: number): string[][] {
  const shown = items.slice(0, most);
  const width = (item: ScreenItem): number => (item.handle === undefined ? bodyWidth() : bodyWidth() - HANDLE);
  const wrapped = shown.map((item) => wrap(tidy(item.text), width(item)));
  let spare = most - shown.length;
  return shown.map((item, i) => {
    const lines = Math.min(wrapped[i]!.length, 1 + spare);
    spare -= lines - 1;
    return clip(wrapped[i]!, lines, width(item));
  });
}

/** The first items that fit whole. */
function wholeItems(items: readonly ScreenItem[], most: number): string[] {
  const shown: string[] = [];
  for (const item of items) {
    const lines = wrap(tidy(item.text), bodyWidth());
    if (shown.length + lines.length > most) break;
    pushAll(shown, lines);
  }
  return shown;
}

/** As many whole items as `most` lines hold, and the count of the others. */
function packed(items: readonly ScreenItem[], most: number, whole: boolean): string[] {
  for (let count = items.length; count > 0; count -= 1) {
    const more = items.length - count;
    const text =
      items
        .slice(0, count)
        .map((item) => tidy(item.text))
        .join(' · ') + (more > 0 ? ` · ${more} more` : '');
    const lines = wrap(text, bodyWidth());
    if (lines.length <= most) return lines;
    if (count === 1 && !whole) return clip(lines, most, bodyWidth());
  }
  return [];
}

/** The first `most` lines; what is cut ends in `…`, never in a number without its unit. */
export function clip(lines: readonly string[], most: number, width: number): string[] {
  if (lines.length <= most) return [...lines];
  const kept = lines.slice(0, most);
  const words = kept.at(-1)!.split(' ');
  while (words.length > 1 && (words.join(' ').length + 2 > width || isDangling(words.at(-1)!) || opensItem(words)))
    words.pop();
  return [...kept.slice(0, -1), `${words.join(' ')} …`];
}

/** `…; 9.49 GiB`: a size without its name is useless. */
function opensItem(words: readonly string[]): boolean {
  return /^[KMGT]iB$/.test(words.at(-1)!) && words.at(-3)?.endsWith(';') === true;
}

/** A number, or a word that only introduces one. */
function isDangling(word: string): boolean {
  return (
    /^[\d.,()+=−-]+$/.test(word) ||
    /^(?:of|in|on|for|to|by|at|with|than|the|a|an|and|from|largest|only|even|least|no|which)$/.test(word)
  );
}

/** On one line, without control characters, no word longer than a line can bear. */
export function tidy(text: string): string {
  return printable(text.replaceAll(/\s+/g, ' ').trim())
    .split(' ')
    .map((word) => keepEnd(word, LONGEST_WORD))
    .join(' ');
}
