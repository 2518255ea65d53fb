/** Reading a line to learn from it: what its text becomes, as values that can be compared with those of other lines. */
import type { IterationFinding, LogFinding } from '../../src/model/log-rows.js';
import type { LineFormat, LogFormat } from './formats/contract.js';
import type { PrefixRule } from './prefix-rules.js';
import type { LinePrefix } from './strip-prefix.js';
import type { Leaf, LineRecord, PrintedNumber, PrintedText, SetNumber, Setter, Span } from './template-parts.js';

/** What a line must not contain: its meaning would depend on digits, or it is not all there. */
export const REFUSED = /\ufffd|\[[\d;]{0,20}m|#\d|\d\d\/\d\d \d\d:\d\d:\d\d \[|[eE][+-]?\d{3}|\d{23}|(?<![.\d])\d{16}/;

type Other = NonNullable<IterationFinding['others']>[number];

/** How each number of a finding is set: one place of code for each, for a store by a computed name is slow. */
const SETTERS: Readonly<Record<string, SetNumber>> = {
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
/** Digits of the text, which they are, and the blanks before them. */
export interface Run extends Span {
  readonly at: number;
  readonly blanks: number;
}
export const digitsIn = (runs: readonly Span[]): number => runs.reduce((sum, { start, end }) => sum + end - start, 0);

/** Reads the records of a line as the format reader does; null where they are none of one line, or a line was cut. */
export function readRecords(formats: readonly LogFormat[], text: string): LineRecord[] | null {
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

export const setterFor = ({ key, other }: Leaf): SetNumber | undefined =>
  other < 0 ? SETTERS[key] : key === 'others' ? SETTERS['value'] : undefined;
interface Leaves {
  readonly values: readonly unknown[];
  /** What must be equal for the values to be comparable. */
  readonly structure: string;
}

/** All values of all findings; `leaves` gets where they are. */
export function leavesOf(records: readonly LineRecord[] | null, leaves?: Leaf[]): Leaves {
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

export interface LearnedLine {
  /** The decoded bytes, prefix and all, without the line's end. */
  readonly text: string;
  readonly label: PrefixRule | null;
  /** Whose literals occur in a text, in the order of the reader; null if one of them must be read otherwise. */
  readonly formatsOf: (text: string) => readonly LogFormat[] | null;
}

/** How an expected value of a finding is set: by a number, by a text, or not at all. */
export interface FoundSetter extends Pick<Setter, 'set' | 'slot' | 'make'> {
  /** Which of all values, and where it is. */
  readonly at: number;
  readonly leaf: Leaf;
}
export interface FoundText {
  readonly at: number;
  readonly leaf: Leaf;
  readonly span: Span;
}

/** What lines of other widths are compared with. */
export interface ReadLine extends LearnedLine {
  readonly runs: readonly Run[];
  readonly formats: readonly LogFormat[];
  readonly prefix: LinePrefix;
  readonly writerRuns: readonly Run[];
  readonly time: PrintedText | null;
  readonly leaves: readonly Leaf[];
  readonly values: readonly unknown[];
  readonly structure: string;
  readonly numbers: readonly PrintedNumber[];
  readonly setters: readonly FoundSetter[];
  readonly texts: readonly (PrintedText & FoundText)[];
  /** Their widths cannot be others. */
  readonly fixed: ReadonlySet<Run>;
}

/** All but the writer's. */
export const shapeOf = (prefix: string): string => prefix.replaceAll(/(?<! ) *\d+/g, '0');

export const runsIn = (text: string): Run[] =>
  [...text.matchAll(/(?<! )( *)(\d+)/g)].map(({ index, 0: { length }, 1: blanks }, at) => ({
    at,
    start: index + blanks!.length,
    end: index + length,
    blanks: blanks!.length,
  }));
