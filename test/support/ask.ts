/** The command line in a directory of a test file, and what tests of verbs do with it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { repoRoot, sharedPath } from '../store/scratch.js';
import { type Answer, buildCli, type Cli, type RunOptions } from './cli.js';
import { temporaryDirectory } from './temporary-directory.js';

export interface Asker {
  readonly cli: Cli;
  readonly cwd: string;
  /** What `options` of a question are without others: the directory, and where the stores of paths are kept. */
  readonly options: RunOptions;
  /** The answer to a question that ends with `status`. */
  ends(status: number, ...args: readonly string[]): Answer;
  /** The answer to a question that ends with 0. */
  mbf(...args: readonly string[]): Answer;
  /** Its text. */
  text(...args: readonly string[]): string;
  /** Its document. */
  json<T>(...args: readonly string[]): T;
  /** What a question that ends with `status` prints to stderr; to stdout it must print nothing. */
  refuse(status: number, ...args: readonly string[]): string;
  /** Writes a file in the directory, and gives its path. */
  put(name: string, content: string | Buffer): string;
}

const SAMPLES = join(repoRoot, 'samples');

/**
 * Asks in a temporary directory, in which stores of paths are kept too, but those of samples: these are made once for
 * all test files of a build.
 */
export function asker(more: RunOptions = {}): Asker {
  const cli = buildCli();
  const cwd = temporaryDirectory();
  const optionsFor = (isOfSample: boolean): RunOptions => {
    const cache = isOfSample ? sharedPath('sample-cache') : join(cwd, 'cache');
    return { cwd, ...more, env: { XDG_CACHE_HOME: cache, ...more.env } };
  };
  const ends = (status: number, ...args: readonly string[]): Answer =>
    cli.expect(status, args, optionsFor(args.some((arg) => arg.startsWith(SAMPLES))));
  const mbf = (...args: readonly string[]): Answer => ends(0, ...args);
  return {
    cli,
    cwd,
    options: optionsFor(false),
    ends,
    mbf,
    text: (...args) => mbf(...args).stdout,
    json: (...args) => mbf(...args, '--json=full').json(),
    refuse(status, ...args) {
      const { stdout, stderr } = ends(status, ...args);
      expect(stdout).toBe('');
      return stderr;
    },
    put(name, content) {
      const path = join(cwd, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
  };
}

/** Every line fits a screen, and none has what a missing value leaves. */
export function expectFits(text: string, columns = 100): void {
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(columns);
  expect(text).not.toMatch(/\bNaN\b|undefined|\[object|Infinity/);
}

export const sum = <Row>(rows: readonly Row[], pick: (row: Row) => number): number =>
  rows.reduce((all, row) => all + pick(row), 0);

export function byComponent(
  rows: readonly { readonly component: string; readonly bytes: number }[],
): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { component, bytes } of rows) sums[component] = (sums[component] ?? 0) + bytes;
  return sums;
}
