/**
 * `git bisect run` with our judge, on a small repository whose training is a script: what the launch command does, and
 * what git makes of our exit codes.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { BisectReportResult } from '../../src/model/results/bisect.js';
import { buildCli, environment } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { NCCL_TIMEOUT, oomLines, type TrainingLog, trainingLog, writeTraining } from '../support/training-log.js';

const PEAKS = [{ rank: 0, first: 50_000, later: 57_000 }];
const BASE: TrainingLog = {
  iterations: 8,
  arguments: { seq_length: 4096, micro_batch_size: 1, num_layers: 24 },
  peaks: PEAKS,
  stepMs: (i) => (i === 1 ? 9000 : 1000 + (i % 5)),
};
const LATER = PEAKS.map((peak) => ({ ...peak, later: peak.later * 1.1 }));

/** Commits of a repository: what the training of each prints, or what its launch script does instead. */
interface Commit {
  readonly log?: TrainingLog;
  readonly script?: string;
}

/** An ended process may have no parent that reaps it. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('bisect', () => {
  const cli = buildCli();
  const root = temporaryDirectory();
  const env = environment({
    XDG_CACHE_HOME: join(root, 'cache'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  });
  const golden = join(root, 'golden.json');
  let number = 0;

  beforeAll(() => {
    writeTraining(root, 'base', BASE);
    cli.expect(0, ['golden', 'export', golden, '--name', join(root, 'base')], { cwd: root, env });
  });

  function repository(commits: readonly Commit[]): { readonly directory: string; readonly shas: readonly string[] } {
    number += 1;
    const directory = join(root, `repository-${number}`);
    mkdirSync(directory);
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: directory, env, encoding: 'utf8' }).trim();
    git('init', '-q', '-b', 'main');
    const shas = commits.map(({ log, script }, i) => {
      writeFileSync(join(directory, 'train.log.txt'), trainingLog({ ...BASE, ...log }));
      writeFileSync(
        join(directory, 'launch.sh'),
        `#!/bin/sh\n${script ?? 'cp train.log.txt "$MBF_OUTPUT_DIR/train.log"'}\n`,
      );
      writeFileSync(join(directory, 'count.txt'), String(i));
      chmodSync(join(directory, 'launch.sh'), 0o755);
      git('add', '-A');
      git('commit', '-q', '-m', `commit ${i}`);
      return git('rev-parse', 'HEAD');
    });
    return { directory, shas };
  }

  const bisect = (directory: string, bad: string, good: string, judge: readonly string[]) => {
    execFileSync('git', ['bisect', 'start', bad, good], { cwd: directory, env, stdio: 'pipe' });
    const result = spawnSync('git', ['bisect', 'run', process.execPath, cli.script, ...judge], {
      cwd: directory,
      env,
      encoding: 'utf8',
    });
    return { status: result.status, stdout: result.stdout, stderr: result.stderr };
  };
  const report = (directory: string): BisectReportResult =>
    cli.expect(0, ['bisect', 'report', '--json=full'], { cwd: directory, env }).json<BisectReportResult>();
  const runBisect = (directory: string, ...args: string[]) =>
    cli.run(['bisect', 'run', ...args], { cwd: directory, env });

  it('names the commit, with the facts about it', () => {
    const commits = Array.from({ length: 12 }, (_, i): Commit => ({ log: i >= 7 ? { peaks: LATER } : {} }));
    const { directory, shas } = repository(commits);
    const { status, stdout } = bisect(directory, shas[11]!, shas[0]!, [
      'bisect',
      'run',
      '--golden',
      golden,
      '--on',
      'memory',
      '--',
      './launch.sh',
    ]);
    expect(stdout).toContain(`${shas[7]} is the first bad commit`);
    expect(status).toBe(0);
    const result = report(directory);
    expect(result).toMatchObject({
      schema: 'mbforensics/bisect-report@1',
      criterion: 'memory',
      state: 'found',
      culprit: { sha: shas[7], subject: 'commit 7', judged_runs: 1 },
      before: { sha: shas[6] },
      after: { sha: shas[7] },
      confidence: 'high',
      suspects_left: [],
    });
    expect(result.checks.find(({ name }) => name === 'peak_allocated')!.relative).toBeCloseTo(0.1, 4);
    for (const { bundle, sha } of result.steps) {
      expect(readdirSync(bundle).sort()).toEqual(['judgement.json', 'run-1']);
      expect(existsSync(join(bundle, 'run-1', 'output', 'train.log'))).toBe(true);
      expect(JSON.parse(readFileSync(join(bundle, 'judgement.json'), 'utf8'))).toMatchObject({ sha });
    }
    // git forgets; the report does not.
    execFileSync('git', ['bisect', 'reset'], { cwd: directory, env, stdio: 'pipe' });
    expect(report(directory)).toMatchObject({ state: 'found', culprit: { sha: shas[7] } });
    expect(cli.expect(0, ['bisect', 'report'], { cwd: directory, env }).stdout).toContain('commit 7');
    const page = cli.expect(0, ['bisect', 'report', '--html', '-'], { cwd: directory, env }).stdout;
    expect(page).toContain('<!doctype html>');
    expect(page).toContain('bisect: found, confidence high');
    expect(page).toMatch(/<h1[^>]*>[^\n]{0,200}[0-9a-f]{7} commit 7/);
    expect(execFileSync('git', ['status', '--short'], { cwd: directory, env, encoding: 'utf8' })).toBe('');
  });

  it('skips commits it cannot judge, and then leaves git its suspects', () => {
    const lost: Commit = { log: { iterations: 3, finished: false, after: NCCL_TIMEOUT } };
    const unbuilt: Commit = { script: 'echo "SyntaxError: invalid syntax" >&2; exit 1' };
    const dead: Commit = { log: { iterations: 3, finished: false, after: oomLines(0) } };
    const { directory, shas } = repository([{}, {}, lost, unbuilt, dead, dead]);
    const { stdout } = bisect(directory, shas[5]!, shas[0]!, [
      'bisect',
      'run',
      '--golden',
      golden,
      '--',
      './launch.sh',
    ]);
    expect(stdout).toMatch(/only .*skip.*ped commits left/i);
    const result = report(directory);
    expect(result).toMatchObject({ state: 'suspects', culprit: null, confidence: 'low' });
    expect(result.suspects_left.map(({ sha }) => sha)).toEqual([shas[2], shas[3], shas[4]]);
    expect(result.suspects_left[0]!.why_skipped).toMatch(/timeout/);
    expect(result.suspects_left[1]!.why_skipped).toMatch(/nothing|ended with 1/);
  });

  it('launches again while undecided, and gives the number of the launch', () => {
    const flaky =
      'test "$MBF_ATTEMPT" -ge 3 && { cp train.log.txt "$MBF_OUTPUT_DIR/x.log"; exit 0; }; echo "$MBF_COMMIT"; exit 9';
    const { directory, shas } = repository([{ script: flaky }]);
    const options = ['--golden', golden, '--quiet', '--json=full'];
    expect(runBisect(directory, ...options, '--runs', '2', '--', './launch.sh')).toMatchObject({ status: 125 });
    expect(runBisect(directory, ...options, '--runs', '5', '--', './launch.sh')).toMatchObject({ status: 0 });
    const bundle = report(directory).steps.at(-1)!.bundle;
    expect(readdirSync(bundle).sort()).toEqual(['judgement.json', 'run-1', 'run-2', 'run-3']);
    expect(readFileSync(join(bundle, 'run-1', 'launch.log'), 'utf8').trim()).toBe(shas[0]);
  });

  it('ends a launch that hangs, with everything it started, and judges what it wrote', () => {
    const hang = 'cp train.log.txt "$MBF_OUTPUT_DIR/x.log"; sleep 1000 & echo $! > "$MBF_OUTPUT_DIR/pid.txt"; wait';
    const dead = { iterations: 3, finished: false, after: oomLines(0) };
    const { directory } = repository([
      { script: hang, log: dead },
      { script: hang, log: { iterations: 3, finished: false } },
    ]);
    const judge = () =>
      runBisect(directory, '--golden', golden, '--quiet', '--json=full', '--timeout', '3s', '--', './launch.sh');
    const cut = judge();
    expect(cut.status).toBe(125);
    expect(cut.stdout).toMatch(/did not end within 3 s/);
    execFileSync('git', ['checkout', '-q', 'HEAD~1'], { cwd: directory, env });
    // The others wait for the rank that ran out of memory.
    expect(judge().status).toBe(1);
    const { bundle } = report(directory).steps.at(-1)!;
    const pid = Number(readFileSync(join(bundle, 'run-1', 'output', 'pid.txt'), 'utf8'));
    expect(isRunning(pid)).toBe(false);
  });

  it('collects what the command writes where it always does', () => {
    const script = 'mkdir -p results/logs && cp train.log.txt results/logs/new.log';
    const { directory } = repository([{ script }]);
    mkdirSync(join(directory, 'results'));
    writeFileSync(join(directory, 'results', 'old.log'), trainingLog({ ...BASE, peaks: LATER }));
    execFileSync('touch', ['-d', '2020-01-01', join(directory, 'results', 'old.log')]);
    const options = ['--golden', golden, '--on', 'memory', '--output', 'results', '--quiet'];
    expect(runBisect(directory, ...options, '--', './launch.sh')).toMatchObject({ status: 0 });
    const { bundle } = report(directory).steps.at(-1)!;
    expect(readdirSync(join(bundle, 'run-1', 'output'), { recursive: true }).sort()).toEqual(['logs', 'logs/new.log']);
  });

  it('stops git where nothing can be judged, instead of blaming a commit', () => {
    const { directory, shas } = repository([{}, {}, {}, {}]);
    const stopped = (...judge: string[]): string => {
      const { stdout, stderr, status } = bisect(directory, shas[3]!, shas[0]!, judge);
      execFileSync('git', ['bisect', 'reset'], { cwd: directory, env, stdio: 'pipe' });
      expect(status).not.toBe(0);
      expect(stdout).not.toContain('is the first bad commit');
      return `${stdout}${stderr}`;
    };
    expect(stopped('bisect', 'run', '--golden', 'goldne.json', '--', './launch.sh')).toContain('MBF1009');
    expect(stopped('bisect', 'run', '--golden', golden, '--', './lunch.sh')).toContain('MBF1010');
    expect(stopped('bisect', 'run', '--golden', golden, '--', 'sh', '-c', 'no-such-command')).toContain('MBF1010');
    expect(stopped('bisect', 'run', '--golden', golden, '--on', 'component:activation', '--', './launch.sh')).toContain(
      'MBF1009',
    );
    expect(stopped('bisect', 'triage', 'out', '--golden', golden)).toContain('MBF1');
  });

  it('stops where the launch command checks out something else', () => {
    const { directory } = repository([{}, { script: 'git checkout -q HEAD~1' }]);
    const moved = runBisect(directory, '--golden', golden, '--quiet', '--', './launch.sh');
    expect(moved).toMatchObject({ status: 255, stdout: '' });
    expect(moved.stderr).toContain('it moved HEAD');
  });

  it('stops where a submodule was left behind', () => {
    const { directory: library } = repository([{}, {}]);
    const { directory } = repository([{}]);
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], { cwd: directory, env, stdio: 'pipe' });
    git('submodule', 'add', '-q', library, 'library');
    git('commit', '-q', '-m', 'a submodule');
    const options = ['--golden', golden, '--quiet'];
    expect(runBisect(directory, ...options, '--', './launch.sh')).toMatchObject({ status: 0 });
    execFileSync('git', ['checkout', '-q', 'HEAD~1'], { cwd: join(directory, 'library'), env });
    const off = runBisect(directory, ...options, '--', './launch.sh');
    expect(off).toMatchObject({ status: 255, stdout: '' });
    expect(off.stderr).toContain('MBF1011');
    // A launch that brings it up to date is as it should be.
    const update = 'git -c protocol.file.allow=always submodule update -q --init && exec ./launch.sh';
    expect(runBisect(directory, ...options, '--', 'sh', '-c', update)).toMatchObject({ status: 0 });
  });

  it('without a bisection there is nothing to report', () => {
    const { directory } = repository([{}]);
    const answer = cli.run(['bisect', 'report'], { cwd: directory, env });
    expect([answer.status, answer.stdout]).toEqual([2, '']);
    expect(answer.stderr).toContain('MBF1002');
    expect(cli.run(['bisect', 'report', '--repo', '/'], { cwd: directory, env }).stderr).toContain('MBF1008');
  });
});
