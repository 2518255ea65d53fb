/**
 * Repositories to bisect, as `samples/generate/repository/` makes them: the same wherever they are built, run by
 * `launch.sh`, bisected by git; and what they promise of every commit is true of its run.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type BuiltCommit,
  type BuiltRepository,
  buildRepository,
  checkOut,
} from '../../samples/generate/repository/build-repository.js';
import { choose } from '../../samples/generate/repository/choose.js';
import { FACTS, REPOSITORY_KINDS, type RepositoryKind } from '../../samples/generate/repository/facts.js';
import { REFACTORS } from '../../samples/generate/repository/refactors.js';
import type { Trained } from '../../samples/generate/repository/train.js';
import { sharedBuild } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { NIGHTLY, sampled } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const work = temporaryDirectory();
const compiled = sharedBuild();
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

// All 41 commits of a repository are trained: some kinds with each change.
describe.each(sampled(REPOSITORY_KINDS, 2))('a repository of kind %s', (kind: RepositoryKind) => {
  let repository: BuiltRepository;
  let runs: Run[];

  beforeAll(async () => {
    repository = await buildRepository(newDirectory(), { seed: 4, kind });
    runs = await trainAll(repository);
  });

  it('has all kinds of commits, and none next to the planted one that cannot be judged', () => {
    const { commits, planted, expectedSuspects } = repository;
    expect(commits).toHaveLength(41);
    expect(new Set(commits.map(({ sha }) => sha)).size).toBe(41);
    const present = new Set(commits.map((commit) => commit.kind));
    const kinds = 'bump docs tests config config_small flaky broken straggler fix planted'.split(' ');
    for (const name of [...REFACTORS, ...kinds]) expect(present, name).toContain(name);
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

describe('a built repository', () => {
  let repository: BuiltRepository;
  beforeAll(async () => {
    repository = await buildRepository(newDirectory(), { seed: 2, kind: 'memory' }, compiled);
  });

  function launch(directory: string, output: string): number | null {
    const env = { ...process.env, ...repository.environment, MBF_OUTPUT_DIR: output };
    return spawnSync(join(directory, 'launch.sh'), { env, encoding: 'utf8' }).status;
  }

  const gitIn = (directory: string, ...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };

  it('is the same wherever it is built', async () => {
    const again = await buildRepository(newDirectory(), { seed: 2, kind: 'memory' }, compiled);
    expect(again.commits).toEqual(repository.commits);
    expect(again.planted).toEqual(repository.planted);
    const other = await buildRepository(newDirectory(), { seed: 3, kind: 'memory' });
    expect(other.commits[0]!.sha).not.toBe(repository.commits[0]!.sha);
  });

  it('trains by launch.sh as `train` does, at any commit, and leaves the checkout clean', async () => {
    const { directory, planted, commits } = repository;
    for (const at of [planted.index - 1, planted.index, 0]) {
      const { sha } = commits[at]!;
      await checkOut(repository, sha);
      const output = newDirectory();
      expect(launch(directory, output)).toBe(0);
      const expected = newDirectory();
      await repository.train(sha, 1, expected);
      expect(readdirSync(output).sort()).toEqual(readdirSync(expected).sort());
      for (const name of readdirSync(output)) {
        expect(readFileSync(join(output, name)).equals(readFileSync(join(expected, name))), name).toBe(true);
      }
      expect(gitIn(directory, 'status', '--porcelain')).toBe('');
    }
  });

  it('takes another time in another launch of the same commit, and the same memory', async () => {
    const { sha } = repository.commits[0]!;
    const [first, second] = await Promise.all([1, 2].map((attempt) => repository.train(sha, attempt, newDirectory())));
    expect(second!.peakBytes).toBe(first!.peakBytes);
    expect(second!.medianStepUs).not.toBe(first!.medianStepUs);
    expect(second!.medianStepUs! / first!.medianStepUs! - 1).toBeLessThan(0.02);
  });

  it('can be launched in a worktree', () => {
    const tree = join(newDirectory(), 'tree');
    gitIn(repository.directory, 'worktree', 'add', '--quiet', '--detach', tree, repository.planted.sha);
    expect(launch(tree, newDirectory())).toBe(0);
    gitIn(repository.directory, 'worktree', 'remove', '--force', tree);
  });

  it('leaves runs that can be ingested without a failed source', async () => {
    const runs = newDirectory();
    // One commit of every kind.
    const kinds = new Map(repository.commits.map((commit) => [`${commit.kind} ${commit.spoiled}`, commit]));
    for (const { sha } of NIGHTLY ? repository.commits : kinds.values())
      await repository.train(sha, 1, join(runs, sha));
    const database = join(newDirectory(), 'all.duckdb');
    const names = readdirSync(runs).map((name) => join(runs, name));
    const { stdout, stderr } = buildCli().expect(0, ['ingest', ...names, '--each', '--db', database]);
    expect(stdout + stderr).not.toMatch(/failed|error/i);
    const broken = kinds.get('broken always')!;
    expect(readdirSync(join(runs, broken.sha))).toHaveLength(1);
    const flaky = kinds.get('flaky always');
    if (flaky !== undefined) {
      const { failures } = buildCli()
        .expect(0, ['log', join(runs, flaky.sha), '--json=full'])
        .json<{ failures?: unknown }>();
      expect(failures === undefined ? 'timeout' : JSON.stringify(failures)).toContain('timeout');
    }
  });

  /** A judge that knows the truth. */
  function bisect(of: BuiltRepository, limitBytes: number): string {
    const judge = join(newDirectory(), 'judge.mjs');
    writeFileSync(
      judge,
      `import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
const output = ${JSON.stringify(newDirectory())};
rmSync(output, { recursive: true, force: true });
spawnSync('./launch.sh', { env: { ...process.env, MBF_OUTPUT_DIR: output } });
const path = output + '/truth.json';
if (!existsSync(path)) process.exit(125);
const { ranks, numbers } = JSON.parse(readFileSync(path, 'utf8'));
if (ranks[0].ending !== 'completed') process.exit(125);
process.exit(numbers.peak_allocated_bytes > ${limitBytes} ? 1 : 0);
`,
    );
    const env = { ...process.env, ...of.environment };
    gitIn(of.directory, 'bisect', 'start', of.commits.at(-1)!.sha, of.commits[0]!.sha);
    const { stdout } = spawnSync('git', ['bisect', 'run', process.execPath, judge], {
      cwd: of.directory,
      env,
      encoding: 'utf8',
    });
    gitIn(of.directory, 'bisect', 'reset');
    return stdout;
  }

  const between = ({ planted: { peakBytes } }: BuiltRepository): number => (peakBytes[0] + peakBytes[1]) / 2;

  it('is bisected by git to the planted commit', () => {
    expect(bisect(repository, between(repository))).toContain(`${repository.planted.sha} is the first bad commit`);
  });

  it.each(NIGHTLY ? [2, 3] : [2])(
    'leaves git with the suspects where the planted one has neighbours that cannot be judged (seed %i)',
    async (seed) => {
      const spoiled = await buildRepository(newDirectory(), { seed, kind: 'memory', skippedNeighbour: true }, compiled);
      expect(spoiled.expectedSuspects.length).toBeGreaterThan(1);
      expect(spoiled.expectedSuspects).toContain(spoiled.planted.sha);
      const output = bisect(spoiled, between(spoiled));
      const list = /The first bad commit could be any of:\n([0-9a-f\n]+)/.exec(output)?.[1] ?? output;
      expect(list.trim().split('\n').sort()).toEqual([...spoiled.expectedSuspects].sort());
    },
  );
});
