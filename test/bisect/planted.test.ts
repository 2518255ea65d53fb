/**
 * Real bisections of recorded histories: 40 commits that move, rename and configure, some that die of the network or do
 * not build, one slowed by a straggler, and one that made the runs worse. The other histories are bisected in
 * `planted.ci.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repoRoot } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { expectBisected } from './planted.js';

describe('git bisect run with our judge', () => {
  const cli = buildCli();
  const root = temporaryDirectory();

  it('oom: names the planted commit, and reports it as docs/bisect.md shows', async () => {
    const { history } = await expectBisected(cli, root, 'oom');
    const printed = cli.expect(0, ['bisect', 'report'], { cwd: history.directory }).stdout;
    const shown = /```console\n\$ mbforensics bisect report\n([\s\S]*?\n)```/.exec(
      readFileSync(join(repoRoot, 'docs', 'bisect.md'), 'utf8'),
    )![1]!;
    // But for the hash of the session.
    const plain = (text: string): string => text.replace(/bisect\/[0-9a-f]{12}\//, 'bisect/…/');
    expect(plain(printed)).toBe(plain(shown));
  });
});
