/**
 * What really differs in each hunk. Comments, docstrings, white space, moved code and renamed names are removed; what
 * is left has a place (new lines, or where old ones were) and a weight. Works on the lines of the hunks alone.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import type { ChangedFile, ChangedHunk } from '../../model/git.js';
import { type Language, type LineKind, languageOf, type ReadLine, readLines } from './line-kinds.js';
import { hasRelease, memorySigns, timeSign, type WordSigns } from './memory-words.js';

export interface ReadHunk {
  readonly hunk: ChangedHunk;
  /** 0 to 1: how much of a change it is. 0: only formatting. */
  readonly weight: number;
  /** Lines of the newer file that differ; empty if lines were only removed, or the text is unknown. */
  readonly lines: readonly number[];
  /** Lines of the older file that differ. */
  readonly old_lines: readonly number[];
  /** Computed on first use. */
  readonly signs: WordSigns;
  /** See `timeSign`. */
  readonly slow: string | null;
  /** Lines for the reader, with their sign: those that differ. */
  readonly shown: readonly string[];
  /**
   * Name of the function that git prints for the hunk; functions that begin within it, with their line in the newer
   * file.
   */
  readonly function_name: string | null;
  readonly inner_functions: readonly { readonly name: string; readonly line: number }[];
}

export interface ReadFile {
  readonly file: ChangedFile;
  /** Position in the comparison. */
  readonly index: number;
  /** At the newer commit if it exists there, from the repository's root. */
  readonly path: string;
  readonly language: Language;
  /** Tests and documentation; examples only within these. */
  readonly is_aside: boolean;
  readonly hunks: readonly ReadHunk[];
}

/** Never run by a training job. */
const ASIDE =
  /(?:^|\/)(?:tests?|testing|docs?|documentation|\.github|\.gitlab|\.ci|\.circleci|unit_tests|functional_tests)\/|(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|(?:^|\/)(?:LICENSE|NOTICE|CODEOWNERS|CHANGELOG|README)[^/]*$/i;

const LINES_SHOWN = 8;
const LINE_SHOWN = 200;
/** Least number of consecutive equal lines for code to count as moved. */
const RUN = 3;
/** A shorter line alone does not show where it comes from. */
const LEAST_MOVED_CHARS = 20;

/** A statement, or the part of it in the hunk: its lines as one, so that wrapping it otherwise changes nothing. */
interface Unit {
  readonly kind: LineKind;
  readonly normal: string;
  readonly code: string;
  /** Indices of its lines. */
  readonly at: readonly number[];
}

interface Draft {
  readonly hunk: ChangedHunk;
  readonly removed: readonly Unit[];
  readonly added: readonly Unit[];
}

export function readChanges(files: readonly ChangedFile[]): ReadFile[] {
  const drafts = files.map((file) => {
    const language = languageOf(file.new_path ?? file.old_path ?? '');
    return file.hunks.map((hunk) => draftOf(hunk, language));
  });
  const all = drafts.flat();
  const elsewhere = movedLines(all);
  const names = renamedNames(all);
  return files.map((file, index) => {
    const path = file.new_path ?? file.old_path ?? '';
    const fullPath = file.submodule === '' ? path : `${file.submodule}/${path}`;
    return {
      file,
      index,
      path: fullPath,
      language: languageOf(path),
      is_aside: ASIDE.test(path) || languageOf(path) === 'prose',
      hunks: drafts[index]!.map((draft) => readHunk(draft, elsewhere, names, languageOf(path))),
    };
  });
}

function draftOf(hunk: ChangedHunk, language: Language): Draft {
  const unitsOf = (lines: readonly string[]): Unit[] => joinStatements(readLines(lines, language), language);
  return { hunk, removed: unitsOf(hunk.removed), added: unitsOf(hunk.added) };
}

const UNREAD = threshold('suspects.unread');
/** A bracket that a hunk leaves open ends here. */
const MOST_JOINED = 60;

function joinStatements(lines: readonly ReadLine[], language: Language): Unit[] {
  const units: Unit[] = [];
  let open: { kind: LineKind; normal: string[]; code: string[]; at: number[] } | undefined;
  let depth = 0;
  const close = (): void => {
    if (open !== undefined) {
      const { kind, at } = open;
      units.push({ kind, normal: joined(open.normal), code: joined(open.code), at });
    }
    open = undefined;
    depth = 0;
  };
  lines.forEach(({ kind, normal, code }, i) => {
    if (normal === '') return;
    open ??= { kind, normal: [], code: [], at: [] };
    open.normal.push(normal);
    open.code.push(code);
    open.at.push(i);
    if (language === 'python' || language === 'slash') {
      for (const char of code) depth += '([{'.includes(char) ? 1 : ')]}'.includes(char) ? -1 : 0;
    }
    if (depth <= 0 || open.at.length >= MOST_JOINED) close();
  });
  close();
  return units;
}

function joined(lines: readonly string[]): string {
  if (lines.length === 1) return lines[0]!.replace(/,([)\]}])/g, '$1');
  return lines
    .join(' ')
    .replace(/([([{]) /g, '$1')
    .replace(/,? ?([)\]}])/g, '$1');
}

const FUNCTION = /^(?:async\s+)?def\s+(\w+)/;

/** `def _mlp(self, x):` → `_mlp`; null for anything else, such as a class. */
function functionName(line: string): string | null {
  return FUNCTION.exec(line.trim())?.[1] ?? null;
}

function readHunk(
  draft: Draft,
  elsewhere: MovedLines,
  names: ReadonlyMap<string, string>,
  language: Language,
): ReadHunk {
  const { hunk, added } = draft;
  // Its text was too long to be read: its place alone does not show what it changes.
  const isUnread = hunk.removed.length + hunk.added.length < hunk.old_lines + hunk.new_lines;
  const left = isUnread ? { removed: [], added: [], isIndentOnly: false } : differing(draft, elsewhere);
  const codeOf = (units: readonly Unit[]): string[] => units.map(({ code }) => code);
  const linesOf = (units: readonly Unit[]): number[] => units.flatMap(({ at }) => at);
  let signs: WordSigns | undefined;
  let shown: readonly string[] | undefined;
  return {
    hunk,
    weight: isUnread ? UNREAD : weightOf(left.removed, left.added, names, language, left.isIndentOnly),
    lines: linesOf(left.added).map((i) => hunk.new_start + i),
    old_lines: linesOf(left.removed).map((i) => hunk.old_start + i),
    get signs() {
      signs ??= memorySigns(codeOf(left.removed), codeOf(left.added));
      return signs;
    },
    get slow() {
      return timeSign(codeOf(left.removed), codeOf(left.added));
    },
    get shown() {
      shown ??= shownLines(hunk, linesOf(left.removed), linesOf(left.added));
      return shown;
    },
    function_name: functionName(hunk.context),
    inner_functions: added.flatMap(({ code, at }) => {
      const name = functionName(code);
      return name === null ? [] : [{ name, line: hunk.new_start + at[0]! }];
    }),
  };
}

/** The lines that differ of statements that differ, unless none does by itself. */
function shownLines(hunk: ChangedHunk, removed: readonly number[], added: readonly number[]): string[] {
  const [out, put] = [removed.map((i) => hunk.removed[i]!), added.map((i) => hunk.added[i]!)];
  const plain = (text: string): string => text.replace(/\s+/g, '');
  const without = (lines: readonly string[], others: readonly string[]): string[] => {
    const known = new Set(others.map(plain));
    const left = lines.filter((line) => !known.has(plain(line)));
    return left.length === 0 ? [...lines] : left;
  };
  const [less, more] = [without(out, put), without(put, out)];
  const signed = [...less.map((line) => `-${line}`), ...more.map((line) => `+${line}`)];
  return balanced(signed, less.length).map((line) => line.slice(0, LINE_SHOWN).trimEnd());
}

/** Some of both signs. */
function balanced(lines: readonly string[], removed: number): string[] {
  if (lines.length <= LINES_SHOWN) return [...lines];
  const half = LINES_SHOWN / 2;
  const first = Math.min(removed, Math.max(half, LINES_SHOWN - (lines.length - removed)));
  return [...lines.slice(0, first), ...lines.slice(removed, removed + LINES_SHOWN - first)];
}

/**
 * Statements of both sides without a counterpart: neither within the hunk nor, as part of a run of statements,
 * elsewhere.
 */
function differing(
  { removed, added }: Draft,
  elsewhere: MovedLines,
): { readonly removed: Unit[]; readonly added: Unit[]; readonly isIndentOnly: boolean } {
  if (tight(removed) === tight(added)) return { removed: [], added: [], isIndentOnly: removed.length > 0 };
  const kept = commonLines(normals(removed), normals(added));
  const movedOut = movedUnits(removed, elsewhere.added);
  const movedIn = movedUnits(added, elsewhere.removed);
  return {
    removed: removed.filter((_, i) => !kept.a.has(i) && !movedOut.has(i)),
    added: added.filter((_, i) => !kept.b.has(i) && !movedIn.has(i)),
    isIndentOnly: false,
  };
}

const normals = (units: readonly Unit[]): string[] => units.map(({ normal }) => normal);

/** A whole side without white space: lines that were only wrapped otherwise read the same. */
function tight(units: readonly Unit[]): string {
  return units
    .map(({ normal }) => normal.replace(/\\$/, ''))
    .join('')
    .replace(/\s+/g, '')
    .replace(/,([)\]}])/g, '$1');
}

const MOST_PRODUCT = 250_000;

/** Positions of a longest common subsequence; of long lists those at both ends that are alike. */
function commonLines(a: readonly string[], b: readonly string[]): { readonly a: Set<number>; readonly b: Set<number> } {
  const result = { a: new Set<number>(), b: new Set<number>() };
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  for (let i = 0; i < start; i += 1) {
    result.a.add(i);
    result.b.add(i);
  }
  for (let i = 1; i <= end; i += 1) {
    result.a.add(a.length - i);
    result.b.add(b.length - i);
  }
  const [n, m] = [a.length - start - end, b.length - start - end];
  if (n === 0 || m === 0 || n * m > MOST_PRODUCT) return result;
  const table = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      table[i]![j] =
        a[start + i] === b[start + j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (a[start + i] === b[start + j]) {
      result.a.add(start + i);
      result.b.add(start + j);
      i += 1;
      j += 1;
    } else if (table[i + 1]![j]! >= table[i]![j + 1]!) i += 1;
    else j += 1;
  }
  return result;
}

/** Runs of lines in the hunks of one side, and whole sides of hunks. */
interface SideRuns {
  readonly runs: ReadonlySet<string>;
  readonly wholes: ReadonlySet<string>;
  readonly singles: ReadonlySet<string>;
}

interface MovedLines {
  readonly removed: SideRuns;
  readonly added: SideRuns;
}

function movedLines(drafts: readonly Draft[]): MovedLines {
  const gather = (of: (draft: Draft) => readonly Unit[]): SideRuns => {
    const runs = new Set<string>();
    const wholes = new Set<string>();
    const singles = new Set<string>();
    for (const draft of drafts) {
      const normal = normals(of(draft));
      for (const statement of normal) singles.add(statement);
      for (let i = 0; i + RUN <= normal.length; i += 1) runs.add(normal.slice(i, i + RUN).join('\n'));
      if (normal.length > 0 && normal.length < RUN) wholes.add(normal.join('\n'));
    }
    return { runs, wholes, singles };
  };
  return { removed: gather(({ removed }) => removed), added: gather(({ added }) => added) };
}

/** Indices of statements that are also on the other side, as part of a run. */
function movedUnits(units: readonly Unit[], other: SideRuns): Set<number> {
  const moved = new Set<number>();
  const normal = normals(units);
  for (let i = 0; i + RUN <= normal.length; i += 1) {
    if (!other.runs.has(normal.slice(i, i + RUN).join('\n'))) continue;
    for (let k = i; k < i + RUN; k += 1) moved.add(k);
  }
  // Most lines of moved code are in runs; a line next to a changed one need not be.
  if (moved.size * 2 >= normal.length) {
    for (let k = 0; k < normal.length; k += 1) if (other.singles.has(normal[k]!)) moved.add(k);
  }
  // A `del` that moved frees at another time: that may be the whole cause.
  const wholeSide = normal.join('\n');
  if (
    normal.length < RUN &&
    wholeSide.length >= LEAST_MOVED_CHARS &&
    other.wholes.has(wholeSide) &&
    !hasRelease(wholeSide)
  ) {
    for (let k = 0; k < normal.length; k += 1) moved.add(k);
  }
  return moved;
}

const TOKEN = /[A-Za-z_]\w*|\d[\w.]*|"(?:[^"\\]|\\.)*"|\S/g;
const tokensOf = (line: string): string[] => line.match(TOKEN) ?? [];
const isName = (token: string | undefined): boolean => token !== undefined && /^[A-Za-z_]/.test(token);

/** Functions, methods, classes and attributes that hunks rename where they are defined: old name → new name. */
function renamedNames(drafts: readonly Draft[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { removed, added } of drafts) {
    if (removed.length !== added.length || removed.length > 200) continue;
    removed.forEach((unit, k) => {
      const [a, b] = [tokensOf(unit.normal), tokensOf(added[k]!.normal)];
      const at = a.findIndex((token, n) => token !== b[n]);
      if (a.length !== b.length || at < 1 || !isName(a[at]) || !isName(b[at])) return;
      const isDefinition = a[at - 1] === 'def' || a[at - 1] === 'class';
      const isAttribute = at === 2 && a[0] === 'self' && a[1] === '.' && a[3] === '=';
      const isRestEqual = a.every((token, n) => token === b[n] || (token === a[at] && b[n] === b[at]));
      if ((isDefinition || isAttribute) && isRestEqual) names.set(a[at]!, b[at]!);
    });
  }
  return names;
}

/** 0 to 1. See {@link ReadHunk}. */
function weightOf(
  removed: readonly Unit[],
  added: readonly Unit[],
  names: ReadonlyMap<string, string>,
  language: Language,
  isIndentOnly: boolean,
): number {
  const all = [...removed, ...added];
  // Python's indentation has meaning, but a hunk of indentation alone is nearly always a wrapped call.
  if (all.length === 0) return isIndentOnly && language === 'python' ? 0.02 : 0;
  if (all.every(({ kind }) => kind === 'import')) return 0.05;
  if (all.every(({ kind }) => kind === 'import' || kind === 'log')) return 0.06;
  if (all.every(({ kind }) => kind === 'import' || kind === 'log' || kind === 'check')) return 0.25;
  if (language !== 'python') return 1;
  if (withoutTypes(removed) === withoutTypes(added)) return 0.04;
  return renameWeight(removed, added, names);
}

/** Signatures without annotations, and parameters on lines of their own; all without white space. */
function withoutTypes(lines: readonly Unit[]): string {
  return lines
    .map(({ normal }) => {
      if (FUNCTION.test(normal)) return signature(normal);
      // Parameters and fields on lines of their own.
      if (/^\**(?!(?:else|try|finally)\b)\w+ ?: ?[A-Za-z_"]/.test(normal)) return normal.replace(/ ?:[^=]*/, '');
      return normal.startsWith(')') ? normal.replace(/ ?->.*$/, ':') : normal;
    })
    .join('')
    .replace(/\s+/g, '')
    .replace(/,([)\]}:])/g, '$1');
}

function signature(line: string): string {
  let kept = '';
  let depth = 0;
  let isType = false;
  for (const token of tokensOf(line.replace(/ ?->.*$/, ':'))) {
    if (depth === 1 && (token === ',' || token === '=' || token === ')')) isType = false;
    if (token === ')' || token === ']' || token === '}') depth -= 1;
    if (depth === 1 && token === ':') isType = true;
    if (!isType) kept += ` ${token}`;
    if (token === '(' || token === '[' || token === '{') depth += 1;
  }
  return kept;
}

/** 1 unless the only differences are names, one for one. */
function renameWeight(removed: readonly Unit[], added: readonly Unit[], names: ReadonlyMap<string, string>): number {
  if (removed.length !== added.length) return 1;
  const forth = new Map<string, string>();
  const back = new Map<string, string>();
  let isDefined = false;
  let isAttribute = false;
  for (let k = 0; k < removed.length; k += 1) {
    const [a, b] = [tokensOf(removed[k]!.normal), tokensOf(added[k]!.normal)];
    if (a.length !== b.length) return 1;
    const target = assigned(a);
    for (let n = 0; n < a.length; n += 1) {
      const [old, fresh] = [a[n]!, b[n]!];
      if (!isName(old) || !isName(fresh)) {
        if (old !== fresh) return 1;
        continue;
      }
      if ((forth.get(old) ?? fresh) !== fresh || (back.get(fresh) ?? old) !== old) return 1;
      forth.set(old, fresh);
      back.set(fresh, old);
      if (old === fresh || names.get(old) === fresh) continue;
      if (a[n - 1] === '.' || a[n + 1] === '(' || KNOWN_WORD.test(old) || KNOWN_WORD.test(fresh)) isAttribute = true;
      if (target.has(n)) isDefined = true;
    }
  }
  if (isAttribute) return 1;
  const changed = [...forth].filter(([old, fresh]) => old !== fresh && names.get(old) !== fresh);
  // If it is not defined here it may also be another variable.
  return changed.length === 0 || isDefined ? 0.04 : 0.5;
}

/** Names that mean the same everywhere. */
const KNOWN_WORD = /^(?:b?float\d*|b?fp?\d+|u?int\d+|torch|True|False|None|half|double|cuda|cpu)$/;

/** Positions of names that a statement defines: `a, b = …`, `def f(a, b):`, `for a in …`, `with … as a:`. */
function assigned(tokens: readonly string[]): Set<number> {
  const positions = new Set<number>();
  if (tokens.at(-1) === ',') return positions;
  if (tokens[0] === 'def' || (tokens[0] === 'async' && tokens[1] === 'def')) {
    tokens.forEach((token, n) => {
      if (isName(token)) positions.add(n);
    });
    return positions;
  }
  const mark = tokens[0] === 'for' ? 'in' : '=';
  const end = tokens.findIndex((token, n) => token === mark && tokens[n + 1] !== '=');
  const left = tokens.slice(0, Math.max(end, 0));
  if (!left.includes('(') && !left.includes('[')) {
    left.forEach((token, n) => {
      if (isName(token) && tokens[n - 1] !== '.') positions.add(n);
    });
  }
  tokens.forEach((token, n) => {
    if (token === 'as' && isName(tokens[n + 1])) positions.add(n + 1);
  });
  return positions;
}
