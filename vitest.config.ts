import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** These start first: a worker that starts a long file last works on alone. The default order is by size. */
const LONGEST = [
  ...['planted', 'generated-incidents', 'docs-pages', 'triage', 'verify-fix', 'first-screen', 'install', 'repository'],
  ...['samples', 'components', 'bombs', 'bisect', 'kill', 'mutants', 'trace', 'log-formats', 'torch-snapshot-json'],
  ...['diagnose', 'generated-advice', 'composed-logs', 'mutation', 'advice', 'diff', 'causes', 'run-directory'],
  ...['cli', 'every-verb', 'derive-stored', 'library'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.indexOf(basename(moduleId).replace(/(\.full)?\.test\.ts$/, ''));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

/** A long file named on the command line runs, whatever the suite. */
const NAMES_LONG_FILE = process.argv.some((arg) => arg.includes('.full.test'));

/**
 * With MBF_LONG_FORMS_FOLLOW=1 the quick suite leaves out what the full suite, run after it, runs in its long form: a
 * file `NAME.test.ts` that `NAME.full.test.ts` imports.
 */
function filesWithLongForm(): string[] {
  if (process.env['MBF_LONG_FORMS_FOLLOW'] !== '1') return [];
  const tests = join(import.meta.dirname, 'test');
  return readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.full.test.ts'))
    .map((name) => ({ long: name, short: name.replace('.full.test.ts', '.test.ts') }))
    .filter(({ long, short }) =>
      readFileSync(join(tests, long), 'utf8').includes(`import './${basename(short, '.ts')}.js'`),
    )
    .map(({ short }) => `test/${short}`);
}

/** `quick` is `npm test`: all but `*.full.test.ts`. `full` is `npm run test:full`: only those. */
export const testConfig = (suite: 'quick' | 'full'): NonNullable<ViteUserConfig['test']> => ({
  include: [suite === 'full' ? 'test/**/*.full.test.ts' : 'test/**/*.test.ts'],
  exclude: suite === 'full' || NAMES_LONG_FILE ? [] : ['test/**/*.full.test.ts', ...filesWithLongForm()],
  // Half the cores would be one on two, and the suites mostly wait for processes.
  maxWorkers: '100%',
  // Files of a worker share modules: loading them again for every file took a quarter of a run.
  isolate: false,
  sequence: { sequencer: LongestFirst },
  // Concurrent tests share the queries of one batch.
  maxConcurrency: 64,
  // The suites spawn real processes and open real stores; these machines are shared and slow at times.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  env: { TZ: 'UTC', LC_ALL: 'C.UTF-8', MBF_SUITE: NAMES_LONG_FILE ? 'full' : suite },
});

export default defineConfig({ test: testConfig('quick') });
