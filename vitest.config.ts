import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'src/**/*.test.ts', 'parsers/**/*.test.ts'],
    // The suites spawn real processes and open real stores; these machines are shared and slow at times.
    // Half the cores would be one here, and the suites mostly wait for processes.
    maxWorkers: '100%',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    env: { TZ: 'UTC', LC_ALL: 'C.UTF-8' },
  },
});
