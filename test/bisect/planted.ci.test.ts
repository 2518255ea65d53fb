/** Real bisections of the recorded histories that `planted.test.ts` leaves out, three of them with each change. */
import { describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { NIGHTLY, sampled } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { expectBisected, expectNoSites } from './planted.js';

const HISTORIES = [
  ...['component', 'memory', 'memory-shadow', 'component-core', 'throughput', 'oom-skipped'],
  ...['memory-skipped', 'throughput-recipe', 'throughput-skipped'],
];

describe('git bisect run with our judge', () => {
  const root = temporaryDirectory();

  it.each(sampled(HISTORIES, 3))('%s: finds the planted commit, or leaves what git leaves', async (name) => {
    const { history, report } = await expectBisected(buildCli(), root, name);
    if (name === 'component') expect(report.steps.map(({ judgement }) => judgement)).toContain('skip');
    if (history.criterion === 'component:optimizer_state') {
      const grown = report.components.find(({ component }) => component === 'optimizer_state')!;
      expect(grown.delta_bytes / grown.a_bytes).toBeGreaterThan(0.1);
    }
    // Neighbours between which code only moved or was renamed.
    const pairs = NIGHTLY ? history.refactors : history.refactors.slice(0, 3);
    if (pairs.length > 0) await expectNoSites(buildCli(), root, pairs, history);
  });
});
