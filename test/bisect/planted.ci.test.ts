/** Real bisections of the recorded histories that `planted.test.ts` leaves out. */
import { describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { NIGHTLY } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { expectBisected, expectNoSites } from './planted.js';

describe('git bisect run with our judge', () => {
  const cli = buildCli();
  const root = temporaryDirectory();

  it('component: names the planted commit past one that cannot be judged', async () => {
    const { report } = await expectBisected(cli, root, 'component');
    expect(report.steps.map(({ judgement }) => judgement)).toContain('skip');
    const grown = report.components.find(({ component }) => component === 'optimizer_state')!;
    expect(grown.delta_bytes / grown.a_bytes).toBeGreaterThan(0.1);
  });

  // The criteria on their own in the long run: a history with more to it is judged by the same ones.
  it.each([...(NIGHTLY ? ['memory', 'throughput'] : []), 'memory-shadow', 'throughput-recipe'])(
    '%s: names the planted commit',
    async (name) => {
      await expectBisected(cli, root, name);
    },
  );

  it('component-core: names the planted commit, and its component has grown', async () => {
    const { report } = await expectBisected(cli, root, 'component-core');
    const grown = report.components.find(({ component }) => component === 'optimizer_state')!;
    expect(grown.delta_bytes / grown.a_bytes).toBeGreaterThan(0.1);
  });

  it.each(NIGHTLY ? ['oom-skipped', 'throughput-skipped'] : [])(
    '%s: with neighbours that cannot be judged leaves what git leaves',
    async (name) => {
      await expectBisected(cli, root, name);
    },
  );

  it('memory-skipped: leaves what git leaves, and refactored neighbours differ by no site', async () => {
    const { history } = await expectBisected(cli, root, 'memory-skipped');
    await expectNoSites(cli, root, NIGHTLY ? history.refactors : history.refactors.slice(0, 3), history);
  });
});
