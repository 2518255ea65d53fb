/** What a template knows of a line: its numbers, and the fields of rows that they set. */
import type { IterationFinding, LogFinding, MemoryFinding, ValueFinding } from '../../src/model/log-rows.js';
import type { LineFormat, NumberFunction } from './formats/contract.js';

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

/** `[start, end)` of a line, in characters. */
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

/** A text of the line, in bytes: it begins so far before the digits of a run. Its widths are fixed. */
export interface PrintedText {
  readonly run: number;
  readonly before: number;
  readonly length: number;
}

export type SetNumber = (target: Target, value: number) => void;

/** A field that is a function of one number of the line. */
export interface Setter {
  /** A finding, or one of its `others`. */
  readonly target: Target;
  readonly set: SetNumber;
  /** Index of the number. */
  readonly slot: number;
  readonly make: NumberFunction;
}

/** A number of a finding that depends on nothing but how many digits a run has. */
export interface WidthSetter extends Pick<Setter, 'target' | 'set'> {
  readonly run: number;
  /** By that. */
  readonly values: readonly number[];
}

/** What is known of the lines of one form that have these widths. */
export interface TemplateParts {
  /** Of the line read last. */
  readonly records: readonly LineRecord[];
  readonly numbers: readonly PrintedNumber[];
  readonly setters: readonly Setter[];
  readonly widthSetters: readonly WidthSetter[];
  /** Fields that are texts of the line. */
  readonly texts: readonly (PrintedText & Pick<Setter, 'target'>)[];
  /** Least and most blanks and digits of each run. */
  readonly least: Uint8Array;
  readonly most: Uint8Array;
  /** Runs whose digits are part of texts. */
  readonly fixed: readonly number[];
  /** Runs of the prefix that identify the writer, and the time in it. */
  readonly writerRuns: readonly number[];
  readonly time: PrintedText | null;
}

/** Where a value of a finding is. */
export interface Leaf {
  readonly finding: number;
  readonly key: string;
  /** Index in `others`, or -1. */
  readonly other: number;
}
