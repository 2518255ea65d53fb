/** Settings and variables as they were found, in files or in a store. */
import type { MbfError } from './errors.js';
import type { RowOf } from './results/row-of.js';

interface Found extends Pick<RowOf<'log.config'>, 'key' | 'origin' | 'precedence' | 'line'> {
  /** Null: None, or explicitly unset. */
  readonly value: string | null;
  /** The launch it belongs to, from 1. */
  readonly attempt: number;
  readonly file: string;
  /** The number of the file in the order in which files were named: of equal origins the later file wins. */
  readonly fileNumber?: number;
}

export interface FoundSetting extends Found {
  readonly rawKey: string;
}

export type FoundVariable = Found;

/** A word or number that a log prints: `version.torch`, `gpu.name`; the last of its name. */
export interface FoundFigure extends Pick<RowOf<'log.values'>, 'name' | 'value' | 'text' | 'file' | 'line'> {}

/** The last iteration that a log prints of one launch: training started with the settings printed above it. */
export type FoundIteration = Pick<RowOf<'log.iterations'>, 'iteration' | 'attempt' | 'file' | 'line'>;

/** What files contain of settings, read without a store. */
export interface SettingsRead {
  readonly settings: readonly FoundSetting[];
  /** In the order of their places. */
  readonly variables: readonly FoundVariable[];
  readonly figures: readonly FoundFigure[];
  /** Of each log that prints iterations. */
  readonly iterations: readonly FoundIteration[];
  /** Total memory of the device as a memory line prints it. */
  readonly deviceTotalBytes: number | null;
  /** `whole`: a process's environment was captured. `partial`: a script or a configuration sets some variables. */
  readonly environment: 'whole' | 'partial' | 'none';
  /** Files that contain a setting, a variable or a figure, in order. */
  readonly files: readonly string[];
  readonly faults: readonly MbfError[];
  /** Oddities that do not prevent reading. */
  readonly warnings: readonly { readonly file: string; readonly line: number | null; readonly text: string }[];
}
