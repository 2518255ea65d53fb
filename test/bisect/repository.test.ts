/**
 * Repositories to bisect, as `samples/generate/repository/` makes them: the programs in them are run as Python would, what they promise of every commit is
 * true of its run, and git finds what was planted.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type BuiltCommit,
  type BuiltRepository,
  buildRepository,
  checkOut,
} from '../../samples/generate/repository/history/build-repository.js';
import { REFACTORS } from '../../samples/generate/repository/history/refactors.js';
import { REPOSITORY_KINDS, type RepositoryKind } from '../../samples/generate/repository/history/regressions.js';
import { readCommit, trainCommit } from '../../samples/generate/repository/history/train-commit.js';
import { parseModule } from '../../samples/generate/repository/language/parse.js';
import { PythonSyntaxError } from '../../samples/generate/repository/language/syntax-error.js';
import { GPUS, type LaunchOptions } from '../../samples/generate/repository/train/launch-options.js';
import { type ProgramRun, runProgram } from '../../samples/generate/repository/train/run-program.js';
import { type TrainedRun, trained } from '../../samples/generate/repository/train/train-tree.js';
import { sharedBuild } from '../store/scratch.js';
import { buildCli, type Cli } from '../support/cli.js';

const work = mkdtempSync(join(tmpdir(), 'mbf-bisect-'));
let compiled: string;
let cli: Cli;

beforeAll(() => {
  compiled = sharedBuild();
  cli = buildCli();
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

let directories = 0;
function newDirectory(): string {
  directories += 1;
  const directory = join(work, String(directories));
  mkdirSync(directory);
  return directory;
}

const LAUNCH: LaunchOptions = {
  seed: 1,
  torch: '2.8',
  gpu: GPUS.at(-1)!,
  ranks: 2,
  mount: '/opt/Megatron-Bridge/',
  commit: 'x',
  attempt: 1,
  memoryLines: 'bridge',
  stragglers: 'nvrx',
};

const MIB = 2 ** 20;

/** Runs a script of a few lines; each letter stands for a tensor of so many MiB. */
function script(lines: readonly string[], files: Readonly<Record<string, string>> = {}): ProgramRun {
  const tree = new Map([['scripts/pretrain.py', ['import torch', ...lines, ''].join('\n')], ...Object.entries(files)]);
  return runProgram(tree, LAUNCH);
}

/** `torch.empty` of so many MiB. */
const mib = (count: number): string => `torch.empty(${count}, ${MIB / 2}, dtype=torch.bfloat16)`;

/** Allocated and freed MiB, in order: `+2 +3 -2`. */
function moves({ process, ending }: ProgramRun): string {
  if (ending.kind !== 'completed') throw new Error(JSON.stringify(ending));
  return process.trace
    .filter(({ action }) => action === 'alloc' || action === 'free_completed')
    .map(({ action, sizeBytes }) => `${action === 'alloc' ? '+' : '-'}${sizeBytes / MIB}`)
    .join(' ');
}

describe('the program of a repository', () => {
  it('frees a tensor with the last reference to it', () => {
    expect(moves(script([`a = ${mib(1)}`, `b = a`, 'del a', `c = ${mib(2)}`, 'del b', `d = ${mib(3)}`]))).toBe(
      '+1 +2 -1 +3',
    );
    expect(moves(script([`a = ${mib(1)}`, `a = ${mib(2)}`, mib(3), `b = ${mib(4)}`]))).toBe('+1 +2 -1 +3 -3 +4');
    const nested = ['def f(x):', `    y = ${mib(2)}`, '    return x', `z = f(${mib(1)})`, `a = ${mib(3)}`];
    expect(moves(script(nested))).toBe('+1 +2 -2 +3');
    expect(moves(script([`a = [${mib(1)}, ${mib(2)}]`, 'b = a[1]', 'del a', 'del b']))).toBe('+1 +2 -1 -2');
    expect(moves(script([`a = ${mib(2)}`, 'b = a.view(-1)', 'del a', `c = ${mib(3)}`, 'del b']))).toBe('+2 +3 -2');
  });

  it('keeps what a returned function has closed over, as long as there is the function', () => {
    const lines = [
      'def make(x):',
      '    def inner():',
      '        return x',
      '    return inner',
      `f = make(${mib(1)})`,
      `a = ${mib(2)}`,
      'del f',
    ];
    expect(moves(script(lines))).toBe('+1 +2 -1');
  });

  it('keeps for backward what an operation needs, and frees it there', () => {
    const leaf = [`x = ${mib(1)}.requires_grad_()`];
    // The gradient of the result, then that of the leaf; what is freed is the first, the leaf, and its gradient with it.
    expect(moves(script([...leaf, 'y = x.square()', 'del x', 'torch.autograd.backward(y)']))).toBe(
      '+1 +1 +1 +1 -1 -1 -1',
    );
    const without = ['with torch.no_grad():', '    y = x.square()', 'del x'];
    expect(moves(script([...leaf, ...without]))).toBe('+1 +1 -1');
  });

  it('does not store what is inside a fused function', () => {
    const lines = [
      'def jit_fuser(f):',
      '    return f',
      '@jit_fuser',
      'def g(x):',
      '    return x * x + x',
      `a = ${mib(2)}`,
      'b = g(a)',
    ];
    expect(moves(script(lines))).toBe('+2 +2');
    expect(moves(script(lines.filter((line) => line !== '@jit_fuser')))).toBe('+2 +2 +2 -2');
  });

  it('records stacks of files, functions and lines, and tells what failed where', () => {
    const files = {
      'src/pkg/mod.py': 'import torch\n\n\ndef make():\n    # two lines down\n\n    return torch.empty(1024)\n',
    };
    const run = script(['from pkg.mod import make', '', 'a = make()'], files);
    const [entry] = run.process.trace.filter(({ action }) => action === 'alloc');
    expect(entry!.stack!.frames.map(({ name, filename, line }) => `${name} ${filename}:${line}`)).toEqual([
      'make /opt/Megatron-Bridge/src/pkg/mod.py:7',
      '<module> /opt/Megatron-Bridge/scripts/pretrain.py:4',
    ]);
    const missing = script(['from pkg.mod import other'], files).ending;
    expect(missing).toMatchObject({
      kind: 'raised',
      exception: expect.stringMatching(/^ImportError: cannot import name 'other'/),
    });
    expect(script(['a = 1', 'print(b)']).ending).toMatchObject({ exception: "NameError: name 'b' is not defined" });
    expect(script(['def f(', 'x = 1']).ending).toMatchObject({
      exception: expect.stringMatching(/SyntaxError: '\(' was never closed$/),
    });
    expect(() => parseModule('def f()\n    pass\n', 'a.py')).toThrow(PythonSyntaxError);
  });
});

interface Trained extends TrainedRun {
  readonly commit: BuiltCommit;
  readonly entries: number;
}

/** All commits, without writing files. */
async function trainAll(repository: BuiltRepository): Promise<Trained[]> {
  const runs: Trained[] = [];
  for (const commit of repository.commits) {
    const program = runProgram(await readCommit(repository, commit.sha), {
      ...repository.launch,
      commit: commit.sha,
      attempt: 1,
    });
    const entries = program.dump?.traceEntries ?? program.process.trace.length;
    runs.push({ ...trained(program), commit, entries });
  }
  return runs;
}

describe.each(REPOSITORY_KINDS)('a repository of kind %s', (kind: RepositoryKind) => {
  let repository: BuiltRepository;
  let runs: Trained[];

  beforeAll(async () => {
    repository = await buildRepository(newDirectory(), { seed: 4, kind });
    runs = await trainAll(repository);
  });

  it('has all kinds of commits, and none that cannot be judged beside the planted one', () => {
    const { commits, planted, expectedSuspects } = repository;
    expect(commits).toHaveLength(41);
    expect(new Set(commits.map(({ sha }) => sha)).size).toBe(41);
    expect([commits[0]!.sha, commits.at(-1)!.sha]).toEqual([repository.good, repository.bad]);
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
    expect(repository.refactorOnly.length).toBeGreaterThan(9);
  });

  it('ends every run as its commit promises', () => {
    for (const { commit, ending, isSlowNode, entries } of runs) {
      const own = kind === 'oom' && commit.isBad ? 'oom' : 'completed';
      const expected = { never: [own], slow: [own], sometimes: [own, 'hung'], always: ['hung', 'raised'] }[
        commit.spoiled
      ];
      expect(expected, commit.subject).toContain(ending);
      expect(isSlowNode).toBe(commit.spoiled === 'slow');
      expect(entries).toBeLessThan(4_000);
    }
  });

  it('shows the regression from the planted commit on, and nothing before', () => {
    const healthy = runs.filter(({ commit, ending }) => commit.spoiled === 'never' && ending !== 'hung');
    const good = healthy.filter(({ commit }) => !commit.isBad);
    const bad = healthy.filter(({ commit }) => commit.isBad);
    const peaks = (of: readonly Trained[]): number[] => of.map(({ peakAllocatedBytes }) => peakAllocatedBytes);
    const steps = (of: readonly Trained[]): number[] => of.map(({ medianStepUs }) => medianStepUs!);
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
    for (const [before, after] of repository.refactorOnly) {
      const [a, b] = [bySha.get(before)!, bySha.get(after)!];
      expect(b.peakAllocatedBytes, b.commit.subject).toBe(a.peakAllocatedBytes);
      expect(b.nominalStepUs ?? 0).toBeCloseTo(a.nominalStepUs ?? 0, 3);
      expect(b.medianStepUs).not.toBe(a.medianStepUs === null ? 0 : a.medianStepUs);
    }
  });
});

describe('a built repository', () => {
  let repository: BuiltRepository;

  beforeAll(async () => {
    repository = await buildRepository(newDirectory(), { seed: 2, kind: 'memory' });
  });

  function launch(directory: string, output: string): number | null {
    const env = {
      ...process.env,
      TRAINER: join(compiled, 'samples', 'generate', 'repository', 'trainer-main.js'),
      MBF_OUTPUT_DIR: output,
    };
    return spawnSync(join(directory, 'launch.sh'), { env, encoding: 'utf8' }).status;
  }

  const gitIn = (directory: string, ...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync('git', args, { cwd: directory, encoding: 'utf8' });
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
    return stdout.trim();
  };

  it('is the same wherever it is built', async () => {
    const again = await buildRepository(newDirectory(), { seed: 2, kind: 'memory' });
    expect(again.commits).toEqual(repository.commits);
    expect(again.planted).toEqual(repository.planted);
    const other = await buildRepository(newDirectory(), { seed: 3, kind: 'memory' });
    expect(other.good).not.toBe(repository.good);
  });

  it('trains by launch.sh as trainCommit does, at any commit, and leaves the checkout clean', async () => {
    const { directory, planted, commits } = repository;
    for (const at of [planted.index - 1, planted.index, 0]) {
      const { sha } = commits[at]!;
      await checkOut(repository, sha);
      const output = newDirectory();
      expect(launch(directory, output)).toBe(0);
      const expected = newDirectory();
      await trainCommit(repository, sha, 1, expected);
      expect(readdirSync(output).sort()).toEqual(readdirSync(expected).sort());
      for (const name of readdirSync(output)) {
        expect(readFileSync(join(output, name)).equals(readFileSync(join(expected, name))), name).toBe(true);
      }
      expect(gitIn(directory, 'status', '--porcelain')).toBe('');
    }
  });

  it('takes another time in another launch of the same commit, and the same memory', async () => {
    const sha = repository.good;
    const [first, second] = await Promise.all(
      [1, 2].map((attempt) => trainCommit(repository, sha, attempt, newDirectory())),
    );
    expect(second!.peakAllocatedBytes).toBe(first!.peakAllocatedBytes);
    expect(second!.nominalStepUs).toBe(first!.nominalStepUs);
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
    for (const [i, { sha }] of repository.commits.entries()) {
      await trainCommit(repository, sha, 1, join(runs, String(i).padStart(2, '0')));
    }
    const database = join(newDirectory(), 'all.duckdb');
    const names = readdirSync(runs).map((name) => join(runs, name));
    const { stdout, stderr } = cli.expect(0, ['ingest', ...names, '--db', database]);
    expect(stdout + stderr).not.toMatch(/failed|error/i);
    const broken = repository.commits.findIndex((commit) => commit.kind === 'broken');
    expect(readdirSync(names[broken]!)).toHaveLength(1);
    const flaky = repository.commits.findIndex((commit) => commit.kind === 'flaky' && commit.spoiled === 'always');
    if (flaky >= 0) {
      const { failures } = cli.expect(0, ['log', names[flaky]!, '--json']).json<{ failures?: unknown }>();
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
    const env = { ...process.env, TRAINER: join(compiled, 'samples', 'generate', 'repository', 'trainer-main.js') };
    gitIn(of.directory, 'bisect', 'start', of.bad, of.good);
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

  it.each([2, 3])(
    'leaves git with the suspects where the planted one has neighbours that cannot be judged (seed %i)',
    async (seed) => {
      const spoiled = await buildRepository(newDirectory(), { seed, kind: 'memory', skippedNeighbour: true });
      expect(spoiled.expectedSuspects.length).toBeGreaterThan(1);
      expect(spoiled.expectedSuspects).toContain(spoiled.planted.sha);
      const output = bisect(spoiled, between(spoiled));
      const list = /The first bad commit could be any of:\n([0-9a-f\n]+)/.exec(output)?.[1] ?? output;
      expect(list.trim().split('\n').sort()).toEqual([...spoiled.expectedSuspects].sort());
    },
  );
});
