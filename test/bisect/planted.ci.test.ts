/** Real bisections of recorded histories by our judge: one always, another one with every second change. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repoRoot } from '../store/scratch.js';
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

  it('oom: names the planted commit, and reports it as docs/bisect.md shows', async () => {
    const { history } = await expectBisected(buildCli(), root, 'oom');
    const printed = buildCli().expect(0, ['bisect', 'report'], { cwd: history.directory }).stdout;
    const shown = /```console\n\$ mbforensics bisect report\n([\s\S]*?\n)```/.exec(
      readFileSync(join(repoRoot, 'docs', 'bisect.md'), 'utf8'),
    )![1]!;
    // But for the hash of the session.
    const plain = (text: string): string => text.replace(/bisect\/[0-9a-f]{12}\//, 'bisect/…/');
    expect(plain(printed)).toBe(plain(shown));
  });

  it.each(sampled(HISTORIES, 18))('%s: finds the planted commit, or leaves what git leaves', async (name) => {
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
