/** What every case is given, and the pieces more than one of them needs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../src/store/load-queries.js';
import type { Python } from './machine.js';
import type { Contender, ProcessRun, ProcessTimer, Sample } from './measure.js';
import type { Group } from './report.js';

export interface BenchContext {
  readonly timer: ProcessTimer;
  readonly python: Python | undefined;
  /** Generator of snapshot pickles; it need not exist. */
  readonly generator: string;
  /** Inputs are kept here between runs, stores only while they are used. */
  readonly directory: string;
  readonly repeat: number;
  /** Entries of the snapshots, kernels of the Nsight Systems exports. */
  readonly events: readonly number[];
  /** Ranks of a run of many. */
  readonly ranks: number;
  /** MB of the logs. */
  readonly logMegabytes: number;
  /** MB of the text of a thousand ranks. */
  readonly textMegabytes: number;
  progress(text: string): void;
}

/** Thrown where something outside the repository is missing; the case is skipped, loudly. */
export class Skip extends Error {}

export interface Case {
  readonly name: string;
  /** Yields each table as soon as it is measured: a full run takes minutes. */
  run(context: BenchContext): AsyncIterable<Group>;
}

const CLI = join(packageRoot(), 'dist', 'src', 'cli', 'main.js');
const PARSE_CHILD = join(packageRoot(), 'dist', 'bench', 'parse-child.js');

/** The command line of this build as a process of its own, started by a program such as `taskset` if one is given. */
export function runCli(
  context: BenchContext,
  args: readonly string[],
  launcher: readonly string[] = [],
): Promise<ProcessRun> {
  const [command, ...words] = [...launcher, process.execPath, CLI, ...args];
  return context.timer.run(command!, words);
}

/** Gives `work` the path of a store that does not exist yet, and removes it afterwards. */
export async function withFreshStore<T>(context: BenchContext, work: (db: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(context.directory, 'store-'));
  try {
    return await work(join(directory, 'bench.duckdb'));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** @throws {Skip} without one. */
export function requirePython({ python }: BenchContext): Python {
  if (python === undefined) throw new Skip('python3 was not found');
  return python;
}

export const PICKLE_LOAD = 'pickle.load';
export const PICKLE_LOAD_GC_OFF = 'pickle.load, gc off';

/**
 * Python's own reader as a whole process and, from a clock inside it, the call alone: without start-up, without freeing
 * the objects.
 */
export function pickleLoad(context: BenchContext, file: string, gc: 'gc on' | 'gc off'): Contender {
  const name = gc === 'gc on' ? PICKLE_LOAD : PICKLE_LOAD_GC_OFF;
  const program = [
    'import gc, pickle, sys, time',
    gc === 'gc off' ? 'gc.disable()' : '',
    'began = time.perf_counter()',
    "snapshot = pickle.load(open(sys.argv[1], 'rb'))",
    'print(time.perf_counter() - began)',
  ].join('\n');
  const { executable } = requirePython(context);
  return async () => {
    const { stdout, ...sample } = await context.timer.run(executable, ['-c', program, file]);
    return { [name]: sample, [callAlone(name)]: { seconds: Number(stdout), peakRssBytes: null } };
  };
}

export function callAlone(name: string): string {
  return `${name}: the call`;
}

export interface ParseCounts {
  readonly events: number;
  readonly incidents: number;
  readonly logRows: number;
}

export interface ParseReport {
  /** Seconds of each pass over the file, in one process. */
  readonly seconds: readonly number[];
  readonly counts: ParseCounts;
}

/** One of our parsers alone in a fresh process, twice over the file: see `parse-child.ts`. */
export async function runParser(context: BenchContext, format: string, file: string): Promise<ParseReport> {
  const { stdout } = await context.timer.run(process.execPath, [PARSE_CHILD, format, file]);
  return JSON.parse(stdout) as ParseReport;
}

export const FIRST_PASS = 'parser, first pass';
export const SECOND_PASS = 'parser, second pass';

export function passSamples({
  seconds: [first = Number.NaN, second = Number.NaN],
}: ParseReport): Record<string, Sample> {
  return {
    [FIRST_PASS]: { seconds: first, peakRssBytes: null },
    [SECOND_PASS]: { seconds: second, peakRssBytes: null },
  };
}
