/**
 * Real bisections of generated repositories: 40 commits that move, rename and configure, some that die of the network or do not build, one slowed by a
 * straggler, and one that made the runs worse. One repository for each criterion; the bench has twenty.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bisected, bisectPlanted, type Tools } from '../../bench/planted-bisection.js';
import { trainCommit } from '../../samples/generate/repository/history/train-commit.js';
import type { DiffResult } from '../../src/model/results/diff.js';
import { repoRoot } from '../store/scratch.js';
import { buildCli, type Cli } from '../support/cli.js';

describe('git bisect run with our judge', () => {
  let cli: Cli;
  const root = mkdtempSync(join(tmpdir(), 'mbf-planted-'));
  const tools = (): Tools => ({
    script: cli.script,
    trainer: join(cli.script, '..', '..', '..', 'samples', 'generate', 'repository', 'trainer-main.js'),
    goldenRuns: 2,
  });
  beforeAll(() => {
    cli = buildCli();
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const bisect = (
    kind: Parameters<typeof bisectPlanted>[1]['kind'],
    seed: number,
    skippedNeighbour = false,
  ): Promise<Bisected> => bisectPlanted(mkdtempSync(join(root, `${kind}-`)), { seed, kind, skippedNeighbour }, tools());

  it.each([
    ['oom', 2],
    ['memory', 12],
    ['throughput', 13],
    ['component', 14],
  ] as const)('%s (repository %i): names the planted commit, and blames no other', async (kind, seed) => {
    const { repository, report, firstBad, output, blamed, cleared, hasSuspect } = await bisect(kind, seed);
    const { planted } = repository;
    expect(firstBad, output).toBe(planted.sha);
    expect({ blamed, cleared }).toEqual({ blamed: [], cleared: [] });
    expect(report).toMatchObject({ state: 'found', culprit: { sha: planted.sha }, suspects_left: [] });
    expect(hasSuspect, JSON.stringify([planted, report.suspects.slice(0, 3)])).toBe(true);
    // The example in docs/bisect.md, except for the hash of the session.
    if (kind === 'oom') {
      const told = cli.expect(0, ['bisect', 'report'], { cwd: repository.directory }).stdout;
      const shown = /```console\n\$ mbforensics bisect report\n([\s\S]*?\n)```/.exec(
        readFileSync(join(repoRoot, 'docs', 'bisect.md'), 'utf8'),
      )![1]!;
      const plain = (text: string): string => text.replace(/bisect\/[0-9a-f]{12}\//, 'bisect/…/');
      expect(plain(told)).toBe(plain(shown));
    }
    if (kind === 'component') {
      const grown = report.components.find(({ component }) => component === planted.component)!;
      expect(grown.delta_bytes / grown.a_bytes).toBeGreaterThan(0.1);
    }
  });

  it('with neighbours that cannot be judged leaves what git leaves', async () => {
    const { repository, report, firstBad, left, blamed, cleared } = await bisect('memory', 5, true);
    expect(firstBad).toBeNull();
    expect([...left].sort()).toEqual([...repository.expectedSuspects].sort());
    expect(report.state).toBe('suspects');
    expect(report.suspects_left.map(({ sha }) => sha)).toEqual(repository.expectedSuspects);
    expect({ blamed, cleared }).toEqual({ blamed: [], cleared: [] });

    // The repository is there: commits that only move and rename code differ by no site.
    const pairs = repository.refactorOnly.slice(0, 3);
    expect(pairs.length).toBeGreaterThan(0);
    for (const [i, pair] of pairs.entries()) {
      const outputs = [];
      for (const sha of pair) {
        const output = mkdtempSync(join(root, `refactor-${i}-`));
        await trainCommit(repository, sha, 1, output);
        outputs.push(output);
      }
      const args = ['diff', ...outputs, '--json'];
      const diff = cli.expect(0, args, { env: { XDG_CACHE_HOME: join(root, 'cache') } }).json<DiffResult>();
      expect(diff.sites).toEqual([]);
      expect(diff.total_delta_bytes).toBe(0);
    }
  });
});
