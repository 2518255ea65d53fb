/** Verbs that ask git, in repositories of unknown origin; and `bisect run`, when it is killed or started twice. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { BisectReportResult } from '../../src/model/results/bisect.js';
import { buildCli, environment } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type TrainingLog, trainingLog, writeTraining } from '../support/training-log.js';
import { endless, pathOfOlderGit, pipe, processesWith, repositoryAt } from './repositories.js';

const PEAKS = [{ rank: 0, first: 50_000, later: 57_000 }];
const BASE: TrainingLog = {
  iterations: 8,
  arguments: { seq_length: 4096, micro_batch_size: 1, num_layers: 24 },
  peaks: PEAKS,
  stepMs: (i) => (i === 1 ? 9000 : 1000 + (i % 5)),
};
const LATER = PEAKS.map((peak) => ({ ...peak, later: peak.later * 1.1 }));

const GIT = /^(?:\S*\/)?git\0/;
const cli = buildCli();
const root = temporaryDirectory();
const golden = join(root, 'golden.json');
const env = environment({
  ...{ XDG_CACHE_HOME: join(root, 'cache'), GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
  ...{ GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' },
});

/** A process of its own, which is killed after a minute: then `status` is null. */
function ask(cwd: string, args: readonly string[], changes: Readonly<Record<string, string>> = {}) {
  const options = {
    cwd,
    env: { ...env, ...changes },
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
  } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli.script, ...args], options);
  return { status, stdout, stderr };
}

/** A judged bisection of two commits: the second one is bad, and has another setting. */
function judged(name: string) {
  const directory = join(root, name);
  const made = repositoryAt(directory);
  const logs = [BASE, { ...BASE, peaks: LATER, arguments: { ...BASE.arguments, recompute_granularity: 'full' } }];
  const shas = logs.map((log, i) =>
    made.commit(`commit ${i}`, {
      'train.log.txt': trainingLog(log),
      'launch.sh': '#!/bin/sh\ncp train.log.txt "$MBF_OUTPUT_DIR/train.log"\n',
    }),
  );
  const run = ['bisect', 'run', '--golden', golden, '--on', 'memory', '--quiet', '--', 'sh', 'launch.sh'];
  for (const sha of shas) {
    made.git('checkout', '-q', sha);
    ask(directory, run);
  }
  const state = join(directory, '.git', 'mbforensics', 'bisect');
  const session = readdirSync(state).find((entry) => /^[0-9a-f]{12}$/.test(entry))!;
  return { directory, made, shas, run, session: join(state, session) };
}

beforeAll(() => {
  writeTraining(root, 'base', BASE);
  cli.expect(0, ['ingest', join(root, 'base'), '--db', join(root, 'base.duckdb'), '-q'], { cwd: root, env });
  cli.expect(0, ['golden', 'export', golden, '--name', join(root, 'base')], { cwd: root, env });
});

describe('verbs that ask git', () => {
  it('start no program and open no connection, whatever a partial clone is set to', () => {
    const { made, shas, session } = judged('origin');
    made.git('config', 'uploadpack.allowFilter', 'true');
    const clone = join(root, 'partial');
    made.git('clone', '-q', '--no-checkout', '--filter=blob:none', `file://${made.root}`, clone);
    const canary = join(root, 'canary');
    const config = (key: string, value: string): unknown => made.git('-C', clone, 'config', key, value);
    config('remote.origin.url', 'pwn::x');
    config('protocol.pwn.allow', 'always');
    config('alias.remote-pwn', `!touch ${canary} #`);
    config('diff.odd.textconv', `touch ${canary} #`);
    config('filter.odd.process', `touch ${canary} #`);
    writeFileSync(join(clone, '.git', 'info', 'attributes'), '* diff=odd filter=odd\n');
    execFileSync('cp', ['-r', join(session, '..', '..'), join(clone, '.git')]);
    const older = { PATH: pathOfOlderGit(root) };
    const db = join(root, 'clone.duckdb');
    for (const [i, log] of [BASE, { ...BASE, peaks: LATER }].entries()) {
      writeTraining(root, `run-${i}`, log);
      cli.expect(0, ['ingest', join(root, `run-${i}`), '--commit', shas[i]!, '--db', db, '-q'], { cwd: root, env });
    }
    const stored = ['--repo', clone, '--db', db];
    const diff = ask(root, ['diff', 'run:run-0', 'run:run-1', ...stored], older);
    expect([diff.status, diff.stdout]).toEqual([2, '']);
    expect(diff.stderr).toMatch(/MBF1008: .*: git diff-tree: /);
    const compare = ask(root, ['compare', 'run:run-1', '--golden', 'run:run-0', ...stored], older);
    expect(compare.stderr).toContain('git diff-tree: ');
    expect(ask(root, ['history', ...stored], older).status).toBe(0);
    expect(ask(clone, ['bisect', 'report'], older).stderr).toContain('git diff-tree: ');
    expect(ask(clone, ['history', '--bisect'], older).status).toBe(0);
    const triage = ['bisect', 'triage', join(root, 'run-1'), '--golden', golden, '--on', 'memory'];
    expect(ask(clone, triage, older).status).toBe(1);
    expect(existsSync(canary)).toBe(false);
    // With all objects at hand the report reads the lines that commits change.
    made.git('config', 'diff.odd.textconv', `touch ${canary} #`);
    made.git('config', 'filter.odd.process', `touch ${canary} #`);
    made.write({ '.git/info/attributes': '* diff=odd filter=odd\n' });
    const report = ask(made.root, ['bisect', 'report', '--json=full']);
    expect(report.status).toBe(0);
    const { settings } = JSON.parse(report.stdout) as BisectReportResult;
    expect(settings).toMatchObject([{ key: 'recompute_granularity' }]);
    expect(existsSync(canary)).toBe(false);
  });

  it('refuse a repository with a pipe in place of a file, and damaged records', () => {
    const { directory, shas, session } = judged('piped');
    const settings = join(directory, '.git', 'config');
    const plain = readFileSync(settings, 'utf8');
    pipe(join(directory, '.git', 'pipe'));
    writeFileSync(settings, `${plain}[core]\n\tattributesFile = pipe\n[include]\n\tpath = pipe\n`);
    expect(ask(directory, ['bisect', 'report'])).toMatchObject({ status: 4, stdout: '' });
    expect(ask(root, ['history', '--repo', directory]).stderr).toMatch(/MBF2961: .*pipe: is not a regular file/);
    writeFileSync(settings, plain);
    const judgement = join(session, shas[0]!, 'judgement.json');
    const written = ['{}', 'null'].map((text) => (path: string) => writeFileSync(path, text));
    for (const make of [endless, pipe, ...written]) {
      rmSync(judgement);
      make(judgement);
      const answer = ask(directory, ['bisect', 'report']);
      expect([answer.status, answer.stdout]).toEqual([4, '']);
      expect(answer.stderr).toMatch(/MBF2962: .*judgement\.json: /);
    }
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('take git with them at %s', async (signal) => {
    const made = repositoryAt(join(root, `stuck-${signal}`));
    made.commit('first', { x: '1' });
    pipe(join(made.root, '.git', 'refs', 'heads', 'pipe'));
    const history = [cli.script, 'history', '--repo', made.root, '--db', join(root, 'base.duckdb')];
    const child = spawn(process.execPath, history, { cwd: root, env, stdio: 'ignore' });
    const ended = new Promise((done) => child.on('exit', (code, by) => done([code, by])));
    const running = expect.poll(() => processesWith(made.root, GIT), { timeout: 60_000 });
    await running.toEqual([expect.stringContaining('rev-list')]);
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    await expect.poll(() => processesWith(made.root, GIT), { timeout: 20_000 }).toEqual([]);
  });
});

describe('bisect run', () => {
  it('is refused while another one is running, and goes on after it was killed', async () => {
    const made = repositoryAt(join(root, 'twice'));
    const script = '#!/bin/sh\ntouch ../launched; while test -e ../hold; do sleep 0.1; done\n';
    made.commit('first', {
      'train.log.txt': trainingLog(BASE),
      'launch.sh': `${script}cp train.log.txt "$MBF_OUTPUT_DIR/train.log"\n`,
    });
    writeFileSync(join(root, 'hold'), '');
    const run = ['bisect', 'run', '--golden', golden, '--on', 'memory', '--quiet', '--', 'sh', 'launch.sh'];
    const first = spawn(process.execPath, [cli.script, ...run], { cwd: made.root, env, stdio: 'ignore' });
    const ended = new Promise((done) => first.on('exit', done));
    await expect.poll(() => existsSync(join(root, 'launched')), { timeout: 60_000 }).toBe(true);
    const second = ask(made.root, run);
    expect([second.status, second.stdout]).toEqual([255, '']);
    expect(second.stderr).toMatch(/MBF1013: .*: another `bisect run` is running: process \d+/);
    first.kill('SIGKILL');
    await ended;
    rmSync(join(root, 'hold'));
    expect(ask(made.root, run)).toMatchObject({ status: 0 });
    const report = ask(made.root, ['bisect', 'report', '--json=full']);
    const { steps } = JSON.parse(report.stdout) as BisectReportResult;
    expect(steps).toMatchObject([{ judgement: 'good', runs: 1 }]);
    expect(readdirSync(join(steps[0]!.bundle, '..'))).not.toContain('running.json');
  });
});
