/**
 * What all lines of one shape have in common, whatever their digits are.
 *
 * What makes this exact: no pattern that was asked distinguishes one digit from another ({@link isDigitBlind}), so that
 * all lines of a shape match alike; and the formats that found records declare by which functions of one number each
 * they make them ({@link LineFormat.byShape}). Which number and function a field is shows on lines with other digits,
 * chosen so that no two numbers are the same in all of them. Where anything remains undecided, no template is made.
 */
import type { IterationFinding, LogFinding } from '../../src/model/log-rows.js';
import type { LineFormat, LogFormat, NumberFunction } from './formats/contract.js';
import { isDigitBlind } from './formats/digit-blind.js';
import type { PrefixRule } from './prefix-rules.js';
import { type LinePrefix, stripPrefix } from './strip-prefix.js';
import {
  type FoundSetter,
  type Leaf,
  type LineRecord,
  lastRunOf,
  type PrintedNumber,
  type Setter,
  type Span,
  type Target,
  type TemplateParts,
} from './template-parts.js';

/** Any such number is exact. */
const MOST_EXACT_DIGITS = 15;

/** Findings whose places need no text of their line. */
const ROWS: ReadonlySet<string> = new Set(['iteration', 'memory', 'value', 'gauge', 'phase']);
const KEEP: NumberFunction = (value) => value;
const NEGATE: NumberFunction = (value) => -value;

type Other = NonNullable<IterationFinding['others']>[number];

/** How each number of a finding is set: one place of code for each, for a store by a computed name is slow. */
const SETTERS: Readonly<Record<string, (target: Target, value: number) => void>> = {
  bytes: (target, value) => (target.bytes = value),
  value: (target, value) => (target.value = value),
  precisionBytes: (target, value) => (target.precisionBytes = value),
  iteration: (target, value) => (target.iteration = value),
  rank: (target, value) => (target.rank = value),
  device: (target, value) => (target.device = value),
  target: (target, value) => (target.target = value),
  stepMs: (target, value) => (target.stepMs = value),
  consumedSamples: (target, value) => (target.consumedSamples = value),
  globalBatchSize: (target, value) => (target.globalBatchSize = value),
  tflopsPerGpu: (target, value) => (target.tflopsPerGpu = value),
  learningRate: (target, value) => (target.learningRate = value),
  loss: (target, value) => (target.loss = value),
  lossScale: (target, value) => (target.lossScale = value),
  gradNorm: (target, value) => (target.gradNorm = value),
  skippedIterations: (target, value) => (target.skippedIterations = value),
  nanIterations: (target, value) => (target.nanIterations = value),
};
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

/** Digits of the text, and which they are. */
interface Run extends Span {
  readonly at: number;
}
const digitsIn = (runs: readonly Span[]): number => runs.reduce((sum, { start, end }) => sum + end - start, 0);

/** Reads the records of a line as the format reader does; null where they are none of one line, or a line was cut. */
function readRecords(formats: readonly LogFormat[], text: string): LineRecord[] | null {
  const records: LineRecord[] = [];
  const readAll = (format: LineFormat): boolean => {
    const { pattern } = format;
    let end = 0;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      end = pattern.lastIndex;
      const findings: LogFinding[] = [];
      format.read(match.groups ?? {}, (finding) => findings.push(finding));
      records.push({ format, findings });
      if (match[0] === '') pattern.lastIndex += 1;
    }
    return end > 0;
  };
  let isRead = false;
  let fallback: LineFormat | null = null;
  for (const format of formats) {
    if (format.form === 'block') {
      if (format.opens.test(text)) return null;
    } else if (format.isFallback === true) fallback = format;
    else if (format.cutAtEnd?.(text) === true) return null;
    else isRead = readAll(format) || isRead;
  }
  if (fallback !== null && !isRead) readAll(fallback);
  return records;
}

const setterFor = ({ key, other }: Leaf): Setter['set'] | undefined =>
  other < 0 ? SETTERS[key] : key === 'others' ? SETTERS['value'] : undefined;
interface Leaves {
  readonly values: readonly unknown[];
  /** What must be equal for the values to be comparable. */
  readonly structure: string;
}

/** All values of all findings; `leaves` gets where they are. */
function leavesOf(records: readonly LineRecord[] | null, leaves?: Leaf[]): Leaves {
  const values: unknown[] = [];
  let structure = '';
  let finding = 0;
  for (const { format, findings } of records ?? []) {
    structure += `${format.id}\n`;
    for (const row of findings) {
      for (const key in row) {
        const value = (row as unknown as Record<string, unknown>)[key];
        if (key === 'others' && value !== undefined) {
          const fields = value as readonly Other[];
          structure += `${fields.length}\n`;
          fields.forEach(({ name, value: number, text }, other) => {
            // The text of a number is nowhere used.
            values.push(number, name, number === null ? text : undefined);
            leaves?.push({ finding, key, other }, { finding, key: 'name', other }, { finding, key: 'text', other });
          });
        } else {
          structure += `${key}\n`;
          values.push(value);
          leaves?.push({ finding, key, other: -1 });
        }
      }
      finding += 1;
    }
  }
  return { values, structure: records === null ? '-' : structure };
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

/** What a line must not contain: its meaning would depend on digits, or it is not all there. */
const REFUSED = /\ufffd|\[[\d;]{0,20}m|#\d|\d\d\/\d\d \d\d:\d\d:\d\d \[|[eE][+-]?\d{3}|\d{23}|(?<![.\d])\d{16}/;

/** Whether the pattern of this format matches all lines of one shape alike. */
export const mayHaveTemplate = (format: LogFormat): boolean =>
  isDigitBlind(format.form === 'block' ? format.opens : format.pattern);

export interface LearnedLine {
  /** The decoded bytes, prefix and all, without the line's end. */
  readonly text: string;
  readonly label: PrefixRule | null;
  /** Those whose literals occur in it, in the order of the reader; all {@link mayHaveTemplate}. */
  readonly formats: readonly LogFormat[];
}

const shapeOf = (prefix: string): string => prefix.replaceAll(/\d/g, '0');

const runsIn = (text: string): Run[] =>
  [...text.matchAll(/\d+/g)].map(({ index, 0: { length } }, at) => ({ at, start: index, end: index + length }));

/**
 * The constants of a line of the same form as another one: by {@link LineFormat.byShape} a field is the same
 * function of the same number then, which this line confirms. Null where it does not, or where its prefix has another
 * shape.
 */
export function deriveTemplate(
  { text, label, formats }: LearnedLine,
  { learned, numbers, constantValues }: TemplateParts,
): readonly number[] | null {
  if (REFUSED.test(text) || formats.some((format, at) => format !== learned.formats[at])) return null;
  const { end } = stripPrefix(text, label);
  const records = shapeOf(text.slice(0, end)) === learned.prefixShape ? readRecords(formats, text.slice(end)) : null;
  const { values, structure } = leavesOf(records);
  if (records === null || structure !== learned.structure) return null;
  const runs = runsIn(text);
  const printed = numbers.map((number) => Number(text.slice(runs[number.run]!.start, runs[lastRunOf(number)]!.end)));
  const isSet = new Set<number>(learned.constants);
  for (const { at, slot, make } of learned.setters) {
    if (slot < 0 || !Object.is(make(printed[slot]!), values[at])) return null;
    isSet.add(at);
  }
  if (values.some((value, at) => !isSet.has(at) && !Object.is(value, learned.values[at]))) return null;
  const constants = learned.constants.map((at) => values[at]);
  if (constants.some((value) => typeof value !== 'number')) return null;
  // The very same list: it need not be set again.
  return constants.every((value, at) => Object.is(value, constantValues[at]))
    ? constantValues
    : (constants as number[]);
}

/** What a template of the line's shape consists of; null if not all of it follows from the shape. */
export function makeTemplate({ text, label, formats }: LearnedLine): TemplateParts | null {
  if (REFUSED.test(text)) return null;
  const runs = runsIn(text);
  const prefix = stripPrefix(text, label);
  const prefixRuns = runs.filter(({ start }) => start < prefix.end);
  const prefixOf = (change: (digit: number, run: number) => number): LinePrefix =>
    stripPrefix(
      withDigits(text, prefixRuns, (digit, _, run) => change(digit, run)),
      label,
    );
  // The time of the prefix: where it is unmistakable.
  let time: Span | null = null;
  if (prefix.time !== null) {
    const probe = withDigits(text, runs, (digit, place, run) => PROBES[0]!(digit, place, run, 0));
    const printed = stripPrefix(probe, label).time ?? '';
    const start = probe.indexOf(printed);
    if (printed === '' || start !== probe.lastIndexOf(printed) || start + printed.length > prefix.end) return null;
    time = { start, end: start + printed.length };
    if (text.slice(time.start, time.end) !== prefix.time) return null;
  }
  const { time: _, ...writer } = prefix;
  const writerRuns = prefixRuns.filter((run, at) => {
    if (time !== null && run.start >= time.start && run.end <= time.end) return false;
    const { time: __, ...changed } = prefixOf((digit, index) => (index === at ? CHANGED(digit) : digit));
    return (Object.keys(writer) as (keyof typeof writer)[]).some((key) => writer[key] !== changed[key]);
  });
  if (digitsIn(writerRuns) > MOST_EXACT_DIGITS) return null;

  const read = (line: string) => readRecords(formats, line.slice(prefix.end));
  const records = read(text);
  if (records === null) return null;
  const functions = new Set<NumberFunction>([KEEP, NEGATE]);
  for (const { format, findings } of records) {
    if (format.byShape === undefined || findings.some(({ row }) => !ROWS.has(row))) return null;
    for (const make of format.byShape) functions.add(make);
  }
  const bodyRuns = runs.filter(({ start }) => start >= prefix.end);
  const fields = setLeaves(text, bodyRuns, records, read, [...functions]);
  if (fields === null || fields.fixed.some((run) => digitsIn([run]) > MOST_EXACT_DIGITS)) return null;
  const { fixed, numbers, base, leaves, setters } = fields;
  const made = records.map(({ format, findings }) => ({
    format,
    findings: findings.map((finding) => ({ ...EVERY_FIELD[finding.row], ...finding })),
  })) as unknown as readonly LineRecord[];
  const targets = made.flatMap(({ findings }) => findings) as unknown as Target[];
  const targetOf = ({ finding, other }: Leaf): Target =>
    other < 0 ? targets[finding]! : (targets[finding]!.others![other] as unknown as Target);
  const isSet = new Set(setters.map(({ at }) => at));
  const constants = leaves.flatMap((leaf, at) => {
    const set = setterFor(leaf);
    return set === undefined || isSet.has(at) || typeof base.values[at] !== 'number' ? [] : [{ leaf, at, set }];
  });
  const bytesBefore = (at: number): number => Buffer.byteLength(text.slice(0, at));
  const inBytes = ({ start, end }: Span): Span => ({ start: bytesBefore(start), end: bytesBefore(end) });
  return {
    records: made,
    learned: {
      formats,
      prefixShape: shapeOf(text.slice(0, prefix.end)),
      structure: base.structure,
      setters,
      values: base.values,
      constants: constants.map(({ at }) => at),
    },
    numbers,
    setters: setters.map(({ leaf, set, slot, make, span }) => {
      const { start, end } = inBytes(span);
      return { target: targetOf(leaf), set, slot, make, start, end };
    }),
    constants: constants.map(({ leaf, set }) => ({ target: targetOf(leaf), set })),
    constantValues: constants.map(({ at }) => base.values[at] as number),
    fixed: fixed.map(({ at }) => at),
    writerRuns: writerRuns.map(({ at }) => at),
    time: time === null ? null : inBytes(time),
  };
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
    const isOpen = (leaf: Leaf, at: number): boolean => {
      const value = base.values[at];
      if (all.every(({ values }) => Object.is(values[at], value))) return false;
      const setter = candidates.setter(
        leaf,
        all.map(({ values }) => values[at]),
        functions,
      );
      if (setter === null) return true;
      setters.push({ ...setter, at });
      return false;
    };
    if (all.every(({ structure }) => structure === base.structure) && !leaves.some(isOpen))
      return { setters, numbers: candidates.used, fixed: [...fixed], base, leaves };
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
  setter(leaf: Leaf, values: readonly unknown[], functions: readonly NumberFunction[]): Omit<FoundSetter, 'at'> | null {
    const { numbers, used } = this;
    if (leaf.key === 'timeText') return this.textSetter(leaf, values);
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
      return { leaf, set, slot, make, span: { start: number.start, end: number.end } };
    }
    return null;
  }

  /** A text that is somewhere in the line, and only there. */
  private textSetter(leaf: Leaf, values: readonly unknown[]): Omit<FoundSetter, 'at'> | null {
    const printed = String(values[1]);
    const start = this.lines[1]!.indexOf(printed);
    const span = { start, end: start + printed.length };
    const isThere = start >= 0 && this.lines.every((line, at) => line.slice(span.start, span.end) === values[at]);
    return isThere && start === this.lines[1]!.lastIndexOf(printed)
      ? { leaf, set: () => {}, slot: -1, make: KEEP, span }
      : null;
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
