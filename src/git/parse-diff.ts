/**
 * The output of `git diff-tree --raw --patch --unified=0`: a line for each file, then the files' hunks in the same
 * order. Only the raw lines define the files; hunks are assigned to them by their headers, so that no text inside a
 * file is taken for a file.
 */
import type { ChangedFile, ChangedHunk } from '../model/git.js';

/** One pair of files of a diff. */
export interface DiffEntry extends Pick<ChangedFile, 'similarity' | 'old_path' | 'new_path' | 'binary' | 'hunks'> {
  /** Octal: `100644` and `100755` files, `120000` links, `160000` submodules; `000000` where the side has none. */
  readonly old_mode: string;
  readonly new_mode: string;
  readonly old_id: string;
  readonly new_id: string;
  /** `A` added, `C` copied, `D` deleted, `M` modified, `R` renamed, `T` another type. */
  readonly status: string;
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

/**
 * @param isCut whether git was stopped before it had printed everything
 * @param isFirst of which files lines are read before all others, should there be too many
 */
export function parseDiff(
  text: string,
  isCut = false,
  mostLines = MOST_HUNK_LINES,
  isFirst: (path: string) => boolean = () => false,
): ParsedDiff {
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
  const headers = sections.map(({ header }) => header);
  const places: HunkPlace[] = [];
  let at = 0;
  while (lines.current !== undefined) {
    const index = headers.indexOf(lines.current, at);
    if (index >= 0) at = index + 1;
    readSection(lines, sections[index]?.entry, places);
  }
  const isSpent = readBodies(lines, places, mostLines, isFirst);
  return { files: entries, isCut: isCut || isSpent || places.some(({ isWhole }) => !isWhole) };
}

interface Entry extends DiffEntry {
  binary: boolean;
  readonly hunks: (ChangedHunk & { readonly removed: string[]; readonly added: string[] })[];
}

/** A hunk whose lines are still to be read. */
interface HunkPlace {
  readonly entry: Entry;
  readonly hunk: Entry['hunks'][number];
  /** Where its lines begin in the text. */
  readonly at: number;
  readonly isWhole: boolean;
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

/**
 * Git names both sides in the header even where one of them does not exist. A file that becomes a link is taken out and
 * put in.
 */
function headersOf({ old_path, new_path, old_mode, new_mode, status }: DiffEntry): string[] {
  const header = `diff --git ${quotePath(`a/${old_path ?? new_path}`)} ${quotePath(`b/${new_path ?? old_path}`)}`;
  const isSplit = status === 'T' && old_mode.slice(0, 2) !== new_mode.slice(0, 2);
  return isSplit ? [header, header] : [header];
}

/** Reads the hunks up to the next section, but for their lines. */
function readSection(lines: Lines, entry: Entry | undefined, places: HunkPlace[]): void {
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
    const hunk = {
      old_start: Number(oldStart),
      old_lines: Number(oldCount ?? 1),
      new_start: Number(newStart),
      new_lines: Number(newCount ?? 1),
      context: context ?? '',
      removed: [],
      added: [],
    };
    const at = lines.start;
    const isWhole = eachLine(lines, hunk, () => {});
    if (entry === undefined) continue;
    entry.hunks.push(hunk);
    places.push({ entry, hunk, at, isWhole });
  }
}

/** Lines of a hunk that is an edit rather than a rewrite, and of one that is still worth reading. */
const [SMALL, MIDDLING] = [40, 400];

/**
 * Which hunks are read first: those of changed files, small ones before large ones, then of added, last of deleted
 * ones, which no program runs.
 */
function readingOrder({ entry, hunk }: HunkPlace): number {
  if (entry.new_path === null) return 4;
  if (entry.old_path === null) return 3;
  const lines = hunk.old_lines + hunk.new_lines;
  return lines <= SMALL ? 0 : lines <= MIDDLING ? 1 : 2;
}

/** The lines of hunks, until there are too many. Whether some were left out. */
function readBodies(
  lines: Lines,
  places: readonly HunkPlace[],
  mostLines: number,
  isFirst: (path: string) => boolean,
): boolean {
  const order = new Map(
    places.map((place) => [place, isFirst(place.entry.new_path ?? place.entry.old_path!) ? -1 : readingOrder(place)]),
  );
  let left = mostLines;
  let isSpent = false;
  for (const { hunk, at } of places.toSorted((p, q) => order.get(p)! - order.get(q)!)) {
    lines.seek(at);
    eachLine(lines, hunk, (side, line) => {
      if (left <= 0) isSpent = true;
      else {
        left -= 1;
        hunk[side].push(line.slice(1, MOST_LINE_CHARS + 1));
      }
    });
  }
  return isSpent;
}

/**
 * By count, not by sign: a line `-- x` that is taken out reads `--- x`. Lines of context, which are not asked for,
 * belong to both sides. False if the text ends within the hunk.
 */
function eachLine(
  lines: Lines,
  { old_lines, new_lines }: ChangedHunk,
  take: (side: 'removed' | 'added', line: string) => void,
): boolean {
  let [restOld, restNew] = [old_lines, new_lines];
  while (lines.current !== undefined) {
    const line = lines.current;
    const sign = line[0];
    if (sign === '-' && restOld > 0) {
      restOld -= 1;
      take('removed', line);
    } else if (sign === '+' && restNew > 0) {
      restNew -= 1;
      take('added', line);
    } else if (sign === ' ' && restOld > 0 && restNew > 0) {
      restOld -= 1;
      restNew -= 1;
      take('removed', line);
      take('added', line);
      // `\ No newline at end of file`
    } else if (sign !== '\\') break;
    lines.next();
  }
  return restOld === 0 && restNew === 0;
}

/** Lines of a text, one at a time; a last line without its end is none: git may have been stopped within it. */
class Lines {
  readonly #text: string;
  #end = -1;
  /** Where the current line begins. */
  start = 0;
  current: string | undefined;

  constructor(text: string) {
    this.#text = text;
    this.seek(0);
  }

  next(): void {
    this.seek(this.#end < 0 ? this.#text.length : this.#end + 1);
  }

  seek(start: number): void {
    this.start = start;
    this.#end = this.#text.indexOf('\n', start);
    this.current = this.#end < 0 ? undefined : this.#text.slice(start, this.#end);
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
