/** What a template knows of a line: its numbers, and the fields of rows that they set. */
import type { IterationFinding, LogFinding, MemoryFinding, ValueFinding } from '../../src/model/log-rows.js';
import type { LineFormat, LogFormat, NumberFunction } from './formats/contract.js';

type Mutable<Row> = { -readonly [Key in keyof Row]: Row[Key] };
/** A finding whose numbers are set. */
export type Target = Mutable<
  Omit<IterationFinding, 'row'> & Omit<MemoryFinding, 'row' | 'value'> & Pick<ValueFinding, 'value'>
>;

/** What one match of a format's pattern became. */
export interface LineRecord {
  readonly format: LineFormat;
  readonly findings: readonly LogFinding[];
}

/** Bytes of the line, `[start, end)`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * A number of the line: its first run, whether the next run is its fraction, and the sign of the exponent, if the run
 * behind is one.
 */
export interface PrintedNumber {
  readonly run: number;
  readonly hasFraction: boolean;
  readonly exponent: -1 | 0 | 1;
}
export const lastRunOf = ({ run, hasFraction, exponent }: PrintedNumber): number =>
  run + (hasFraction ? 1 : 0) + (exponent === 0 ? 0 : 1);

/** A field that is a function of one number of the line, or a text of it. */
export interface Setter extends Span {
  /** A finding, or one of its `others`. */
  readonly target: Target;
  readonly set: (target: Target, value: number) => void;
  /** Index of the number; of a text, -1. */
  readonly slot: number;
  readonly make: NumberFunction;
}

/** What is known of a shape, and of those that follow from it: they differ in nothing but some constants. */
export interface TemplateParts {
  /** Of the line read last. */
  readonly records: readonly LineRecord[];
  readonly numbers: readonly PrintedNumber[];
  readonly setters: readonly Setter[];
  /** Numbers of the rows that are the same for all digits, how they are set and what they are of this shape. */
  readonly constants: readonly Pick<Setter, 'target' | 'set'>[];
  readonly constantValues: readonly number[];
  /** Runs whose digits are part of texts. */
  readonly fixed: readonly number[];
  /** Runs of the prefix that identify the writer, and the time in it. */
  readonly writerRuns: readonly number[];
  readonly time: Span | null;
  readonly learned: Learned;
}

export interface FoundSetter extends Pick<Setter, 'set' | 'slot' | 'make'> {
  /** Which of all values, and where it is. */
  readonly at: number;
  readonly leaf: Leaf;
  readonly span: Span;
}

/** What was found about a shape, of which that of other shapes of its form follows. */
export interface Learned {
  readonly formats: readonly LogFormat[];
  readonly prefixShape: string;
  readonly structure: string;
  readonly setters: readonly FoundSetter[];
  /** Of the line that was learned. */
  readonly values: readonly unknown[];
  /** Which of the values are {@link TemplateParts.constants}. */
  readonly constants: readonly number[];
}

/** Where a value of a finding is. */
export interface Leaf {
  readonly finding: number;
  readonly key: string;
  /** Index in `others`, or -1. */
  readonly other: number;
}
