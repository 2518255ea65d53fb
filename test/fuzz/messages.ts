/** Between the campaign and its workers, which are processes: a crash or an endless loop ends one of them only. */
import type { Finding } from './oracle.js';

/** One input with what it is; how it is kept in `test/robustness/found/`. */
export interface Case {
  readonly format: string;
  readonly name: string;
  readonly bytes: Buffer;
  /** Questions asked of the store, in the place of random ones. */
  readonly questions?: readonly (readonly string[])[] | undefined;
  /** A limit below the usual one, for what was slow at a small size. */
  readonly cpuSeconds?: number | undefined;
}

export type ToWorker =
  | {
      readonly type: 'campaign';
      readonly seed: number;
      readonly formats: readonly string[];
      readonly directory: string;
      readonly inputs: number;
      readonly endAt: number;
      /** Of 1,000 inputs, so many also go through the command line. */
      readonly programPerMille: number;
    }
  | { readonly type: 'check'; readonly directory: string; readonly case: Case };

export interface Tally {
  readonly inputs: Readonly<Record<string, number>>;
  readonly kept: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly programInputs: number;
  readonly programCalls: number;
  readonly blocks: number;
  readonly maxCpu: Extreme;
  readonly maxGrowth: Extreme;
  readonly maxRssBytes: number;
}

export interface Extreme {
  readonly value: number;
  /** Format and size of the input. */
  readonly input: string;
}

export type FromWorker =
  | { readonly type: 'tally'; readonly tally: Tally }
  | { readonly type: 'finding'; readonly finding: Finding; readonly case: Case }
  | { readonly type: 'checked'; readonly finding: Finding | undefined }
  | { readonly type: 'done' };

/** The input being read, for the case that its reader does not come back. */
export const CURRENT = 'current';
/** A line of JSON is before the bytes. */
export interface CurrentHeader {
  readonly n: number;
  readonly format: string;
  readonly name: string;
}
