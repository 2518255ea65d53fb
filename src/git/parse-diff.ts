/**
 * What `git diff-tree --raw --patch --unified=0` prints: a line for each file, then the files' hunks in the same order. The raw lines alone say
 * which files there are; hunks are put to them by their headers, so that nothing in a file's text can pass for a file.
 */
import type { ChangedHunk } from '../model/git.js';

/** One pair of files of a diff. */
export interface DiffEntry {
  /** Octal: `100644` and `100755` files, `120000` links, `160000` submodules; `000000` where the side has none. */
  readonly old_mode: string;
  readonly new_mode: string;
  readonly old_id: string;
  readonly new_id: string;
  /** `A` added, `C` copied, `D` deleted, `M` modified, `R` renamed, `T` another type. */
  readonly status: string;
  readonly similarity: number | null;
  readonly old_path: string | null;
  readonly new_path: string | null;
  readonly binary: boolean;
  readonly hunks: readonly ChangedHunk[];
}

export interface ParsedDiff {
  readonly files: readonly DiffEntry[];
  /** Files whose hunks the text does not reach, or texts of hunks beyond the limit. */
  readonly isCut: boolean;
}

/** Lines of hunks whose text is kept, over all files. Hunks beyond keep their place. */
export const MOST_HUNK_LINES = 200_000;
/** A line is cut here: minified data has lines of megabytes. */
export const MOST_LINE_CHARS = 2_000;

const RAW = /^:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])(\d*)\t(.*)$/;
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** @param isCut whether git was stopped before it had printed everything */
export function parseDiff(text: string, isCut = false, mostLines = MOST_HUNK_LINES): ParsedDiff {
  const lines = new Lines(text);
  const entries: Entry[] = [];
  const sections: Section[] = [];
  for (; lines.current !== undefined; lines.next()) {
    const entry = readRaw(lines.current);
    if (entry !== undefined) {
      entries.push(entry);
      for (const header of headersOf(entry)) sections.push({ header, entry });
    } else if (lines.current.startsWith('diff --git ')) break;
  }
  const budget = { lines: mostLines, isSpent: false };
  const headers = sections.map(({ header }) => header);
  let at = 0;
  let isWhole = true;
  while (lines.current !== undefined) {
    const found = headers.indexOf(lines.current, at);
    if (found >= 0) at = found + 1;
    isWhole = readSection(lines, sections[found]?.entry, budget);
  }
  return { files: entries, isCut: isCut || !isWhole || budget.isSpent };
}

interface Entry extends DiffEntry {
  binary: boolean;
  readonly hunks: ChangedHunk[];
}

interface Section {
  readonly header: string;
  readonly entry: Entry;
}

function readRaw(line: string): Entry | undefined {
  const match = RAW.exec(line);
  if (match === null) return undefined;
  const [, oldMode, newMode, oldId, newId, status, percent, names] = match as unknown as string[];
  const [first, second] = names!.split('\t').map(unquotePath);
  const renamed = second !== undefined;
  return {
    old_mode: oldMode!,
    new_mode: newMode!,
    old_id: oldId!,
    new_id: newId!,
    status: status!,
    similarity: renamed && percent !== '' ? Number(percent) : null,
    old_path: status === 'A' ? null : first!,
    new_path: status === 'D' ? null : (second ?? first!),
    binary: false,
    hunks: [],
  };
}

/** Git names both sides in the header even where one of them does not exist. A file that becomes a link is taken out and put in. */
function headersOf({ old_path, new_path, old_mode, new_mode, status }: DiffEntry): string[] {
  const header = `diff --git ${quotePath(`a/${old_path ?? new_path}`)} ${quotePath(`b/${new_path ?? old_path}`)}`;
  const isSplit = status === 'T' && old_mode.slice(0, 2) !== new_mode.slice(0, 2);
  return isSplit ? [header, header] : [header];
}

/** Reads up to the next section. False if the text ends within a hunk. */
function readSection(lines: Lines, entry: Entry | undefined, budget: { lines: number; isSpent: boolean }): boolean {
  lines.next();
  while (lines.current !== undefined && !lines.current.startsWith('diff --git ')) {
    const match = HUNK.exec(lines.current);
    if (match === null) {
      if (entry !== undefined && /^Binary files .* differ$|^GIT binary patch$/.test(lines.current)) entry.binary = true;
      lines.next();
      continue;
    }
    const [, oldStart, oldCount, newStart, newCount, context] = match as unknown as (string | undefined)[];
    lines.next();
    const counts = { old: Number(oldCount ?? 1), new: Number(newCount ?? 1) };
    const body = readBody(lines, counts, budget);
    entry?.hunks.push({
      old_start: Number(oldStart),
      old_lines: counts.old,
      new_start: Number(newStart),
      new_lines: counts.new,
      context: context ?? '',
      removed: body.removed,
      added: body.added,
    });
    if (!body.isWhole) return false;
  }
  return true;
}

/** By count, not by sign: a line `-- x` that is taken out reads `--- x`. Lines of context, which are not asked for, belong to both sides. */
function readBody(
  lines: Lines,
  counts: { readonly old: number; readonly new: number },
  budget: { lines: number; isSpent: boolean },
): { readonly removed: string[]; readonly added: string[]; readonly isWhole: boolean } {
  const removed: string[] = [];
  const added: string[] = [];
  const keep = (side: string[], line: string): void => {
    if (budget.lines <= 0) budget.isSpent = true;
    else {
      budget.lines -= 1;
      side.push(line.slice(1, MOST_LINE_CHARS + 1));
    }
  };
  let [restOld, restNew] = [counts.old, counts.new];
  while (lines.current !== undefined) {
    const line = lines.current;
    const sign = line[0];
    if (sign === '-' && restOld > 0) {
      restOld -= 1;
      keep(removed, line);
    } else if (sign === '+' && restNew > 0) {
      restNew -= 1;
      keep(added, line);
    } else if (sign === ' ' && restOld > 0 && restNew > 0) {
      restOld -= 1;
      restNew -= 1;
      keep(removed, line);
      keep(added, line);
      // `\ No newline at end of file`
    } else if (sign !== '\\') break;
    lines.next();
  }
  return { removed, added, isWhole: restOld === 0 && restNew === 0 };
}

/** Lines of a text, one at a time; a last line without its end is none: git may have been stopped within it. */
class Lines {
  readonly #text: string;
  #at = 0;
  current: string | undefined;

  constructor(text: string) {
    this.#text = text;
    this.next();
  }

  next(): void {
    const end = this.#text.indexOf('\n', this.#at);
    this.current = end < 0 ? undefined : this.#text.slice(this.#at, end);
    this.#at = end + 1;
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
};
const LETTERS = new Map(Object.entries(ESCAPES).map(([letter, char]) => [char, letter]));

/** `"a\tb \303\274"` → `a⇥b ü`. Upstream: git `quote.c`. */
export function unquotePath(text: string): string {
  if (!/^".*"$/s.test(text)) return text;
  const bytes: Buffer[] = [];
  for (const [, plain, octal, letter] of text.slice(1, -1).matchAll(/([^\\]+)|\\([0-3][0-7]{2})|\\(.)/gs)) {
    if (plain !== undefined) bytes.push(Buffer.from(plain));
    else if (octal !== undefined) bytes.push(Buffer.from([Number.parseInt(octal, 8)]));
    else bytes.push(Buffer.from(ESCAPES[letter!] ?? letter!));
  }
  return Buffer.concat(bytes).toString('utf8');
}

/** The opposite, as git does it with `core.quotepath=off`: only where something has to be escaped. */
export function quotePath(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what git escapes
  const escaped = path.replace(/[\u0000-\u001f\u007f"\\]/g, (char) => {
    const letter = LETTERS.get(char);
    return `\\${letter ?? char.charCodeAt(0).toString(8).padStart(3, '0')}`;
  });
  return escaped === path ? path : `"${escaped}"`;
}
