/**
 * What all lines of one form share, for any digits and widths.
 *
 * Why it is exact: no pattern that ran distinguishes one digit from another ({@link isDigitBlind}), so all lines with
 * the same widths match alike. The formats that found records declare the functions of one number that make each field,
 * and what widths may decide ({@link LineFormat.byShape}). Which number and function a field has is found on lines with
 * other digits, chosen so that no two numbers are equal in all of them. Which widths are read alike is found on lines
 * with every width of one run, and with the least, the most, equal and random widths of all.
 * Where anything is undecided, no template is made, or one with fewer widths.
 */
import type { LogFormat, NumberFunction } from './formats/contract.js';
import { isDigitBlind, withAnyWidth } from './formats/digit-blind.js';
import type { PrefixRule } from './prefix-rules.js';
import { type LinePrefix, stripPrefix } from './strip-prefix.js';
import type { Leaf, LineRecord, PrintedNumber, PrintedText, Span, Target, TemplateParts } from './template-parts.js';
import {
  digitsIn,
  type FoundSetter,
  type FoundText,
  type LearnedLine,
  leavesOf,
  REFUSED,
  type Run,
  readRecords,
  runsIn,
  setterFor,
} from './template-reading.js';
import { widthsOf } from './template-widths.js';

/** Any such number is exact. */
const MOST_EXACT_DIGITS = 15;

/** Findings whose places need no text of their line. */
const ROWS: ReadonlySet<string> = new Set(['iteration', 'memory', 'value', 'gauge', 'phase']);
const KEEP: NumberFunction = (value) => value;
const NEGATE: NumberFunction = (value) => -value;

/** All findings of one kind have the same fields in the same order, so that a store is one instruction. */
const EVERY_FIELD: Readonly<Record<string, object>> = {
  memory: {
    row: '',
    metric: '',
    bytes: null,
    value: 0.5,
    unit: '',
    precisionBytes: 0.5,
    ...nothing('iteration', 'moment', 'rank', 'device'),
  },
  value: { row: '', name: '', value: null, unit: '', ...nothing('text', 'iteration', 'rank', 'device') },
};
function nothing(...names: string[]): object {
  return Object.fromEntries(names.map((name) => [name, undefined]));
}

/** Digits that make every run differ from every other one in one of two lines, small numbers, and zeros. */
const PROBES: readonly ((digit: number, place: number, run: number, length: number) => number)[] = [
  (digit, place, run) => (place === 0 ? 1 + (run % 9) : 1 + ((digit * 5 + place * 7 + run * 3) % 9)),
  (digit, place, run) => (place === 0 ? 1 + (Math.floor(run / 9) % 9) : 1 + ((digit * 2 + place * 5 + run * 4) % 9)),
  (digit, place, run, length) => (place < length - 1 ? 0 : 1 + ((digit + run) % 9)),
  () => 0,
];
/** Another digit, for each one. */
const CHANGED = (digit: number): number => (digit + 5) % 10;

function withDigits(text: string, runs: readonly Run[], change: (digit: number, place: number, run: number) => number) {
  let changed = '';
  let from = 0;
  runs.forEach(({ start, end }, run) => {
    changed += text.slice(from, start);
    for (let at = start; at < end; at += 1) changed += change(Number(text[at]), at - start, run);
    from = end;
  });
  return changed + text.slice(from);
}

/** Whether the pattern of this format matches all lines of one shape alike. */
export const mayHaveTemplate = (format: LogFormat): boolean =>
  isDigitBlind(format.form === 'block' ? format.opens : format.pattern);

/** What a template of the line consists of; null if not all of it follows from its form and widths. */
export function makeTemplate(line: LearnedLine): TemplateParts | null {
  const { text, label, formatsOf } = line;
  const formats = REFUSED.test(text) ? null : formatsOf(text);
  if (formats === null) return null;
  const runs = runsIn(text);
  const prefix = stripPrefix(text, label);
  const prefixRuns = runs.filter(({ start }) => start < prefix.end);
  const prefixOf = (change: (digit: number, run: number) => number): LinePrefix =>
    stripPrefix(
      withDigits(text, prefixRuns, (digit, _, run) => change(digit, run)),
      label,
    );
  // The time of the prefix: where it is unmistakable.
  let timeSpan: Span | null = null;
  if (prefix.time !== null) {
    const probe = withDigits(text, runs, (digit, place, run) => PROBES[0]!(digit, place, run, 0));
    const printed = stripPrefix(probe, label).time ?? '';
    const start = probe.indexOf(printed);
    if (printed === '' || start !== probe.lastIndexOf(printed) || start + printed.length > prefix.end) return null;
    timeSpan = { start, end: start + printed.length };
    if (text.slice(timeSpan.start, timeSpan.end) !== prefix.time) return null;
  }
  const isInside = (run: Run, span: Span): boolean => run.start >= span.start && run.end <= span.end;
  const { time: _, ...writer } = prefix;
  const writerRuns = prefixRuns.filter((run, at) => {
    if (timeSpan !== null && isInside(run, timeSpan)) return false;
    const { time: __, ...changed } = prefixOf((digit, index) => (index === at ? CHANGED(digit) : digit));
    return (Object.keys(writer) as (keyof typeof writer)[]).some((key) => writer[key] !== changed[key]);
  });

  const read = (other: string) => readRecords(formats, other.slice(prefix.end));
  const records = read(text);
  if (records === null) return null;
  const functions = new Set<NumberFunction>([KEEP, NEGATE]);
  for (const { format, findings } of records) {
    if (format.byShape === undefined || findings.some(({ row }) => !ROWS.has(row))) return null;
    for (const make of format.byShape) functions.add(make);
  }
  const bodyRuns = runs.filter(({ start }) => start >= prefix.end);
  const fields = setLeaves(text, bodyRuns, records, read, [...functions]);
  if (fields === null) return null;
  const { numbers, base, leaves, setters } = fields;
  const printedAt = (span: Span): PrintedText | null => {
    const run = runs.find((one) => isInside(one, span));
    const printed = text.slice(span.start, span.end);
    if (run === undefined || Buffer.byteLength(printed) !== printed.length) return null;
    return { run: run.at, before: run.start - span.start, length: printed.length };
  };
  const time = timeSpan === null ? null : printedAt(timeSpan);
  const texts = fields.texts
    .flatMap((one) => printedAt(one.span) ?? [])
    .map((at, i) => ({ ...fields.texts[i]!, ...at }));
  if ((time === null && timeSpan !== null) || texts.length < fields.texts.length) return null;
  const spans = [...fields.texts.map(({ span }) => span), ...(timeSpan === null ? [] : [timeSpan])];
  const fixed = new Set([...fields.fixed, ...runs.filter((run) => spans.some((span) => isInside(run, span)))]);
  if ([...fields.fixed, ...writerRuns].some((run) => digitsIn([run]) > MOST_EXACT_DIGITS)) return null;

  const widths = widthsOf(
    { ...{ ...line, runs, formats, prefix, writerRuns, time, leaves, numbers, setters, texts, fixed }, ...base },
    mayBeWider(text, prefix, label, formats),
  );
  if (widths === null) return null;
  const made = records.map(({ format, findings }) => ({
    format,
    findings: findings.map((finding) => ({ ...EVERY_FIELD[finding.row], ...finding })),
  })) as unknown as readonly LineRecord[];
  const targets = made.flatMap(({ findings }) => findings) as unknown as Target[];
  const targetOf = ({ finding, other }: Leaf): Target =>
    other < 0 ? targets[finding]! : (targets[finding]!.others![other] as unknown as Target);
  return {
    records: made,
    numbers,
    setters: setters.map(({ leaf, set, slot, make }) => ({ target: targetOf(leaf), set, slot, make })),
    widthSetters: widths.tables.map(({ leaf, run, values }) => ({
      ...{ target: targetOf(leaf), set: setterFor(leaf)!, run, values },
    })),
    texts: texts.map(({ leaf, run, before, length }) => ({ target: targetOf(leaf), run, before, length })),
    least: Uint8Array.from(widths.least),
    most: Uint8Array.from(widths.most),
    fixed: fields.fixed.map(({ at }) => at),
    writerRuns: writerRuns.map(({ at }) => at),
    time,
  };
}

/**
 * Whether patterns still match alike if numbers may have any count of digits. If not, several widths matter at once,
 * which lines with one other width do not show.
 */
function mayBeWider(
  text: string,
  prefix: LinePrefix,
  label: PrefixRule | null,
  formats: readonly LogFormat[],
): boolean {
  const wide = stripPrefix(text, label, true);
  if ((Object.keys(prefix) as (keyof LinePrefix)[]).some((key) => prefix[key] !== wide[key])) return false;
  const body = text.slice(prefix.end);
  const matchesOf = (pattern: RegExp): string =>
    pattern.global
      ? JSON.stringify([...body.matchAll(pattern)].map((match) => [match.index, ...match]))
      : String(pattern.test(body));
  return formats.every((format) => {
    const pattern = format.form === 'block' ? format.opens : format.pattern;
    return matchesOf(pattern) === matchesOf(withAnyWidth(pattern));
  });
}

/**
 * Which values of the findings are functions of which numbers. Digits that occur in other texts of the findings, or
 * decide on their structure, must stay: `fixed`.
 */
function setLeaves(
  text: string,
  runs: readonly Run[],
  records: readonly LineRecord[],
  read: (text: string) => LineRecord[] | null,
  functions: readonly NumberFunction[],
) {
  const leaves: Leaf[] = [];
  const base = leavesOf(records, leaves);
  const fixed = new Set<Run>();
  for (let round = 0; round < 2; round += 1) {
    const free = runs.filter((run) => !fixed.has(run));
    const lines = PROBES.map((probe) =>
      withDigits(text, free, (digit, place, run) => probe(digit, place, run, free[run]!.end - free[run]!.start)),
    );
    const all = [base, ...lines.map((line) => leavesOf(read(line)))];
    const candidates = new Candidates([text, ...lines], free);
    const setters: FoundSetter[] = [];
    const texts: FoundText[] = [];
    const isOpen = (leaf: Leaf, at: number): boolean => {
      const value = base.values[at];
      if (all.every(({ values }) => Object.is(values[at], value))) return false;
      const printed = all.map(({ values }) => values[at]);
      const span = leaf.key === 'timeText' ? candidates.text(printed) : null;
      const setter = leaf.key === 'timeText' ? null : candidates.setter(leaf, printed, functions);
      if (span !== null) texts.push({ at, leaf, span });
      if (setter !== null) setters.push({ at, leaf, ...setter });
      return span === null && setter === null;
    };
    if (all.every(({ structure }) => structure === base.structure) && !leaves.some(isOpen))
      return { setters, texts, numbers: candidates.used, fixed: [...fixed], base, leaves };
    if (round > 0) break;
    // Digits that any text of the findings, or their structure, depends on.
    for (const run of free) {
      const changed = leavesOf(read(withDigits(text, [run], CHANGED)));
      const matters =
        changed.structure !== base.structure ||
        base.values.some(
          (value, at) =>
            leaves[at]!.key !== 'timeText' && typeof value !== 'number' && !Object.is(value, changed.values[at]),
        );
      if (matters) fixed.add(run);
    }
  }
  return null;
}

/** The numbers of a line, and their values in it and in the lines with other digits. */
class Candidates {
  /** Those that fields are functions of. */
  readonly used: PrintedNumber[] = [];
  private readonly lines: readonly string[];
  private readonly numbers: readonly { readonly number: Found; values: readonly number[] | null }[];
  /** Where the last one was found: fields have the order of their numbers, mostly. */
  private last = 0;

  constructor(lines: readonly string[], runs: readonly Run[]) {
    this.lines = lines;
    this.numbers = runs.flatMap((_, at) =>
      numbersFrom(lines[0]!, runs, at).map((number) => ({ number, values: null })),
    );
  }

  /** By which function of which number the values of a leaf follow in all lines. */
  setter(
    leaf: Leaf,
    values: readonly unknown[],
    functions: readonly NumberFunction[],
  ): Omit<FoundSetter, 'at' | 'leaf'> | null {
    const { numbers, used } = this;
    const set = setterFor(leaf);
    if (set === undefined || values.some((value) => typeof value !== 'number')) return null;
    for (let step = 0; step < numbers.length; step += 1) {
      const index = (this.last + step) % numbers.length;
      const candidate = numbers[index]!;
      const { number } = candidate;
      candidate.values ??= this.lines.map((line) => Number(line.slice(number.start, number.end)));
      const printed = candidate.values;
      const make = functions.find((one) => printed.every((value, at) => Object.is(one(value), values[at])));
      if (make === undefined) continue;
      this.last = index;
      let slot = used.indexOf(number);
      if (slot < 0) slot = used.push(number) - 1;
      return { set, slot, make };
    }
    return null;
  }

  /** A text that is somewhere in the line, and only there. */
  text(values: readonly unknown[]): Span | null {
    const printed = String(values[1]);
    const start = this.lines[1]!.indexOf(printed);
    const span = { start, end: start + printed.length };
    const isThere = start >= 0 && this.lines.every((line, at) => line.slice(span.start, span.end) === values[at]);
    return isThere && start === this.lines[1]!.lastIndexOf(printed) ? span : null;
  }
}

type Found = PrintedNumber & Span;
/** The numbers that begin with a run of digits, the longest first: `1.5E-03`, `1.5`, `1`. */
function numbersFrom(text: string, runs: readonly Run[], index: number): Found[] {
  const between = (run: Run | undefined, next: Run | undefined): string =>
    run === undefined || next === undefined || next.at !== run.at + 1 ? '' : text.slice(run.end, next.start);
  const run = runs[index]!;
  const next = runs[index + 1];
  const numbers: Found[] = [{ run: run.at, start: run.start, end: run.end, hasFraction: false, exponent: 0 }];
  const hasFraction = between(run, next) === '.';
  if (hasFraction) numbers.unshift({ ...numbers[0]!, end: next!.end, hasFraction });
  const [last, behind] = hasFraction ? [next, runs[index + 2]] : [run, next];
  const [, sign] = /^[eE]([+-]?)$/.exec(between(last, behind)) ?? [];
  if (sign !== undefined) numbers.unshift({ ...numbers[0]!, end: behind!.end, exponent: sign === '-' ? -1 : 1 });
  return numbers;
}
