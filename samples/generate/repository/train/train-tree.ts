/** Trains the program of a tree and writes what the run leaves behind. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median } from './generated-run.js';
import type { LaunchOptions } from './launch-options.js';
import { runFiles } from './run-files.js';
import { type ProgramRun, runProgram } from './run-program.js';

/** What is true of a run, whatever its files say. */
export interface TrainedRun {
  readonly ending: ProgramRun['ending']['kind'];
  /** Of the last line of its traceback. */
  readonly exception: string | null;
  /** Of rank 0. */
  readonly peakAllocatedBytes: number;
  readonly steps: number;
  /** Of the steps after the second; null with fewer. */
  readonly medianStepUs: number | null;
  /** Of the last step on a device without noise and in good health; null without one. */
  readonly nominalStepUs: number | null;
  readonly isSlowNode: boolean;
}

export function trainTree(files: ReadonlyMap<string, string>, launch: LaunchOptions, output: string): TrainedRun {
  const run = runProgram(files, launch);
  mkdirSync(output, { recursive: true });
  for (const [name, bytes] of runFiles(launch, run)) writeFileSync(join(output, name), bytes);
  return trained(run);
}

export function trained(run: ProgramRun): TrainedRun {
  const { ending, process, iterations } = run;
  const durations = iterations.slice(2).map(({ startUs, endUs }) => endUs - startUs);
  return {
    ending: ending.kind,
    exception: ending.kind === 'raised' ? ending.exception.split('\n').at(-1)! : null,
    peakAllocatedBytes: process.allocator.statistics.allocatedBytes.peak,
    steps: iterations.length,
    medianStepUs: durations.length === 0 ? null : median(durations),
    nominalStepUs: run.nominalStepUs,
    isSlowNode: run.isSlowNode,
  };
}
