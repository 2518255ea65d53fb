/**
 * Repositories to bisect, as `samples/generate/repository/` makes them: what they promise of every commit is true of
 * its run, and our judge finds what was planted.
 */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type BuiltCommit,
  type BuiltRepository,
  buildRepository,
} from '../../samples/generate/repository/build-repository.js';
import { choose } from '../../samples/generate/repository/choose.js';
import { FACTS, REPOSITORY_KINDS, type RepositoryKind } from '../../samples/generate/repository/facts.js';
import { REFACTORS } from '../../samples/generate/repository/refactors.js';
import type { Trained } from '../../samples/generate/repository/train.js';
import { sharedBuild } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { NIGHTLY } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { expectFound, expectNoSites } from './planted.js';

const work = temporaryDirectory();
const newDirectory = (): string => mkdtempSync(join(work, 'repository-'));

describe('the table of regressions', () => {
  const all = FACTS.regressions.flatMap(({ name, kinds }) => kinds.map((kind) => [name, kind] as const));

  it.each(all)('%s is one of kind %s in a run of some shape', (name, kind) => {
    expect(choose(1, kind, name).regression.name).toBe(name);
  });
});

interface Run extends Trained {
  readonly commit: BuiltCommit;
}

async function trainAll(repository: BuiltRepository): Promise<Run[]> {
  const runs: Run[] = [];
  for (const commit of repository.commits) {
    runs.push({ ...(await repository.train(commit.sha, 1, newDirectory())), commit });
  }
  return runs;
}

describe.each(REPOSITORY_KINDS)('a repository of kind %s', (kind: RepositoryKind) => {
  let repository: BuiltRepository;
  let runs: Run[];

  beforeAll(async () => {
    repository = await buildRepository(newDirectory(), { seed: 4, kind });
    runs = await trainAll(repository);
  });

  it('has all kinds of commits, and none that cannot be judged beside the planted one', () => {
    const { commits, planted, expectedSuspects } = repository;
    expect(commits).toHaveLength(41);
    expect(new Set(commits.map(({ sha }) => sha)).size).toBe(41);
    const present = new Set(commits.map((commit) => commit.kind));
    const kinds = [
      ...REFACTORS,
      'bump',
      'docs',
      'tests',
      'config',
      'config_small',
      'flaky',
      'broken',
      'straggler',
      'fix',
      'planted',
    ];
    for (const wanted of kinds) expect(present, wanted).toContain(wanted);
    const flaky = commits.filter((commit) => commit.kind === 'flaky').length;
    expect(flaky === 2 || flaky === 3).toBe(true);
    for (const near of [-1, 0, 1]) expect(commits[planted.index + near]!.spoiled).toBe('never');
    expect(expectedSuspects).toEqual([planted.sha]);
    expect(commits.map(({ isBad }) => isBad)).toEqual(commits.map((_, i) => i >= planted.index));
    expect(repository.refactors.length).toBeGreaterThan(9);
  });

  it('ends every run as its commit promises', () => {
    for (const { commit, ending } of runs) {
      const own = kind === 'oom' && commit.isBad ? 'oom' : 'completed';
      const expected = { never: [own], slow: [own], sometimes: [own, 'failed'], always: ['failed'] }[commit.spoiled];
      expect(expected, commit.subject).toContain(ending);
    }
  });

  it('shows the regression from the planted commit on, and nothing before', () => {
    const healthy = runs.filter(({ commit, ending }) => commit.spoiled === 'never' && ending !== 'failed');
    const good = healthy.filter(({ commit }) => !commit.isBad);
    const bad = healthy.filter(({ commit }) => commit.isBad);
    const peaks = (of: readonly Run[]): number[] => of.map(({ peakBytes }) => peakBytes);
    const steps = (of: readonly Run[]): number[] => of.map(({ medianStepUs }) => medianStepUs!);
    if (kind === 'oom') expect(new Set(bad.map(({ ending }) => ending))).toEqual(new Set(['oom']));
    else {
      const growth = Math.min(...peaks(bad)) / Math.max(...peaks(good)) - 1;
      if (kind === 'memory') expect(growth).toBeGreaterThan(0.055);
      else expect(Math.abs(growth)).toBeLessThan(0.012);
      const slower = Math.min(...steps(bad)) / Math.max(...steps(good)) - 1;
      if (kind === 'throughput') expect(slower).toBeGreaterThan(0.05);
      else expect(slower).toBeLessThan(0.05);
    }
    // Other commits change next to nothing.
    expect(Math.max(...peaks(good)) / Math.min(...peaks(good))).toBeLessThan(1.01);
    expect(Math.max(...steps(good)) / Math.min(...steps(good))).toBeLessThan(1.03);
    const [slow] = runs.filter(({ commit, ending }) => commit.spoiled === 'slow' && ending === 'completed');
    if (slow !== undefined)
      expect(slow.medianStepUs! / Math.max(...steps(slow.commit.isBad ? bad : good))).toBeGreaterThan(1.08);
  });

  it('has the same figures on both sides of a commit that only moves and renames', () => {
    const bySha = new Map(runs.map((run) => [run.commit.sha, run]));
    for (const [before, after] of repository.refactors) {
      const [a, b] = [bySha.get(before)!, bySha.get(after)!];
      expect(b.peakBytes, b.commit.subject).toBe(a.peakBytes);
      expect(b.commit.behaviours.effects).toEqual(a.commit.behaviours.effects);
      expect(b.commit.behaviours.settings).toEqual(a.commit.behaviours.settings);
    }
  });
});

describe('git bisect run with our judge', () => {
  const oom = NIGHTLY ? ([['oom', 101]] as const) : [];
  it.each([...oom, ['component', 104] as const])('%s (repository %i): names the planted commit', async (kind, seed) => {
    const directory = newDirectory();
    const repository = await buildRepository(directory, { kind, seed }, sharedBuild());
    await expectFound(buildCli(), directory, repository);
    await expectNoSites(buildCli(), directory, repository.refactors.slice(0, 1), repository);
  });
});
