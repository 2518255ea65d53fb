import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { SkippedReporter } from './test/support/levels/skipped-reporter.js';

const root = import.meta.dirname;

/** Seconds of each test file in the last recorded run: `.ci/run --record`. */
const SECONDS = new Map(
  readFileSync(join(root, '.ci', 'test-seconds.tsv'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('\t'))
    .map(([file = '', seconds]) => [file, Number(seconds)]),
);

/** The longest first: a worker that starts a long file last works on alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification): number => SECONDS.get(relative(root, moduleId)) ?? 0;
    return (await super.sort(files)).toSorted((a, b) => seconds(b) - seconds(a));
  }
}

/** Of the commit, so that the tests of two changes differ, and those of one are repeated. */
function seedOfCommit(): string {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' });
  return String(Number.parseInt(stdout?.slice(0, 6) || '1', 16));
}

const ALL = ['test/**/*.test.ts'];
const CI = ['test/**/*.ci.test.ts', 'test/**/*.nightly.test.ts'];
/** By `--mode`: `npm test`, what `.ci/run` adds, `npm run test:nightly`. See `test/support/level.ts`. */
const FILES: Readonly<Record<string, { readonly include: string[]; readonly exclude: string[] }>> = {
  test: { include: ALL, exclude: CI },
  ci: { include: CI, exclude: [] },
  nightly: { include: ALL, exclude: [] },
};

/** What the files of a mode do not test. */
const LEFT: Readonly<Record<string, string>> = {
  test: 'what needs real files, a browser, Python or root (.ci/run); long tests (npm run test:nightly)',
  ci: 'most long tests (npm run test:nightly)',
};

export default defineConfig(({ mode }) => {
  const isFileNamed = process.argv.some((arg) => /\.(?:ci|nightly)\.test/.test(arg));
  const seed = process.env['MBF_SEED'] ?? seedOfCommit();
  return {
    test: {
      ...FILES[isFileNamed ? 'nightly' : mode],
      ...(mode === 'ci' ? { runner: './test/support/levels/nightly-sample.ts' } : {}),
      setupFiles: ['./test/support/levels/seed-properties.ts'],
      reporters: ['default', new SkippedReporter(seed, LEFT[mode] ?? '')],
      // A worker waits while its process with the program works: with one for each core, a third of the cores idled.
      maxWorkers: Math.ceil(1.5 * availableParallelism()),
      // Files of a worker share modules: loading them again for every file took a quarter of a run.
      isolate: false,
      // A file that a test compares with must exist; `npm run screens` writes them.
      update: 'none',
      sequence: { sequencer: LongestFirst },
      // Concurrent tests share the queries of one batch.
      maxConcurrency: 64,
      // The suites spawn real processes and open real stores; these machines are shared and slow at times.
      testTimeout: 600_000,
      hookTimeout: 600_000,
      env: { TZ: 'UTC', LC_ALL: 'C.UTF-8', MBF_LEVEL: mode === 'nightly' ? 'nightly' : 'change', MBF_SEED: seed },
    },
  };
});
