import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, first: a worker that meets one of them last works on alone. Without times of an earlier run the order is by size, and these are small files. */
const LONGEST = [
  'test/bisect/planted-all.test.ts',
  'test/bisect/repository-all.test.ts',
  'test/bisect/planted.test.ts',
  'test/robustness/mutation.test.ts',
  'test/corpus/export-snapshot.test.ts',
  'test/findings/first-screen.test.ts',
  'test/robustness/kill.test.ts',
  'test/findings/generated-incidents.test.ts',
  'test/cli/bisect.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((path) => moduleId.endsWith(path));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts', 'parsers/**/*.test.ts'],
    // The suites spawn real processes and open real stores; these machines are shared and slow at times.
    // Half the cores would be one here, and the suites mostly wait for processes.
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    env: { TZ: 'UTC', LC_ALL: 'C.UTF-8' },
  },
});
