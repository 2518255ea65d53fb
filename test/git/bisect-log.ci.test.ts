/** Logs of real bisections, and of older versions of git as text. */
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { suspectCommits } from '../../src/git/commits.js';
import { parseBisectLog } from '../../src/git/parse-bisect-log.js';
import { openRepository, type Repository } from '../../src/git/repository.js';
import type { BisectLog } from '../../src/model/git.js';
import { SEED } from '../support/level.js';
import { gitEnvironment, scratch, sharedRepository, type TestRepository } from './repositories.js';

const textOf = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined);

/**
 * The bisection under way. Undefined where none is (`git bisect reset` forgets it). Ids are whole, as git writes them.
 */
function readBisectLog({ gitDir }: Repository): BisectLog | undefined {
  const log = textOf(join(gitDir, 'BISECT_LOG'));
  // Two lines: the word for bad, the word for good.
  const [bad, good] = textOf(join(gitDir, 'BISECT_TERMS'))?.split('\n') ?? [];
  return log === undefined ? undefined : parseBisectLog(log, { ...(bad ? { bad } : {}), ...(good ? { good } : {}) });
}

const COMMITS = 16;
const FIRST_BAD = 11;

/** A line of commits, of which number {@link FIRST_BAD} and those after it are bad. */
const history = (root = scratch()) =>
  sharedRepository('sixteen-commits', root, (repo) => {
    for (let i = 0; i < COMMITS; i += 1)
      repo.commit(`c${i}: [x] # good`, { state: i < FIRST_BAD ? 'good' : 'bad', n: `${i}` });
  });

const read = async (repo: TestRepository) => readBisectLog(await openRepository(repo.root, gitEnvironment()));

/** `git bisect run` with a script that judges by the state, and skips some. */
function runWith(repo: TestRepository, skip = ''): void {
  const script = join(repo.root, '.git', 'judge.sh');
  repo.write({
    '.git/judge.sh': `#!/bin/sh\ncase " ${skip} " in *" $(cat n) "*) exit 125;; esac\ngrep -q good state\n`,
  });
  chmodSync(script, 0o755);
  try {
    repo.git('bisect', 'run', script);
  } catch {
    // Ends so where only skipped commits are left.
  }
}

describe('readBisectLog', () => {
  it('is undefined without a session, and after it', async () => {
    const { repo, shas } = history();
    expect(await read(repo)).toBeUndefined();
    repo.git('bisect', 'start', 'HEAD', shas[0]!);
    expect(await read(repo)).toBeDefined();
    repo.git('bisect', 'reset');
    expect(await read(repo)).toBeUndefined();
  });

  it('reads a finished session, with commits named when it was started', async () => {
    const { repo, shas } = history();
    repo.git('bisect', 'start', 'HEAD', shas[0]!);
    runWith(repo);
    const log = (await read(repo))!;
    expect(log.terms).toEqual({ good: 'good', bad: 'bad' });
    expect(log.first_bad).toBe(shas[FIRST_BAD]);
    expect(log.possible).toEqual([]);
    const named = [['bad', shas.at(-1)].join(), ['good', shas[0]].join()];
    expect(log.marks.slice(0, 2).map(({ mark, sha }) => `${mark},${sha}`)).toEqual(named);
    expect(new Set(log.marks.map(({ sha }) => sha)).size).toBe(log.marks.length);
    for (const { mark, sha } of log.marks) expect(mark).toBe(shas.indexOf(sha) < FIRST_BAD ? 'good' : 'bad');
    const repository = await openRepository(repo.root, gitEnvironment());
    const good = log.marks.flatMap(({ mark, sha }) => (mark === 'good' ? [sha] : []));
    expect((await suspectCommits(repository, log.first_bad!, good)).map(({ sha }) => sha)).toEqual([log.first_bad]);
  });

  it('reads a session that goes on', async () => {
    const { repo, shas } = history();
    repo.git('bisect', 'start');
    repo.git('bisect', 'bad');
    repo.git('bisect', 'good', shas[1]!, shas[2]!);
    repo.git('bisect', 'skip');
    const log = (await read(repo))!;
    expect(log).toMatchObject({ first_bad: null, possible: [] });
    expect(log.marks.map(({ mark, sha }) => [mark, shas.indexOf(sha)])).toEqual([
      ['bad', COMMITS - 1],
      ['good', 1],
      ['good', 2],
      ['skip', expect.any(Number)],
    ]);
    const repository = await openRepository(repo.root, gitEnvironment());
    expect(await suspectCommits(repository, shas.at(-1)!, [shas[1]!, shas[2]!])).toHaveLength(COMMITS - 3);
  });

  it('reads a session that ends with skipped commits only', async () => {
    const { repo, shas } = history();
    repo.git('bisect', 'start', 'HEAD', shas[0]!);
    runWith(repo, '10 11 12');
    const log = (await read(repo))!;
    expect(log.first_bad).toBeNull();
    expect(log.possible.map((sha) => shas.indexOf(sha)).sort((a, b) => a - b)).toEqual([10, 11, 12, 13]);
    const skipped = log.marks.flatMap(({ mark, sha }) => (mark === 'skip' ? [shas.indexOf(sha)] : []));
    expect(skipped.sort((a, b) => a - b)).toEqual([10, 11, 12]);
  });

  it('reads words of the user’s own', async () => {
    const { repo, shas } = history();
    repo.git('bisect', 'start', '--term-old', 'fast', '--term-new=slow', 'HEAD', shas[0]!, '--');
    runWith(repo);
    const log = (await read(repo))!;
    expect(log.terms).toEqual({ good: 'fast', bad: 'slow' });
    expect(log.first_bad).toBe(shas[FIRST_BAD]);
    expect(new Set(log.marks.map(({ mark }) => mark))).toEqual(new Set(['good', 'bad']));
  });

  it('reads old and new, which need no announcement', async () => {
    const { repo, shas } = history();
    repo.git('bisect', 'start');
    repo.git('bisect', 'new', 'HEAD');
    repo.git('bisect', 'old', shas[3]!);
    const log = (await read(repo))!;
    expect(log.terms).toEqual({ good: 'old', bad: 'new' });
    expect(log.marks).toEqual([
      { mark: 'bad', sha: shas.at(-1) },
      { mark: 'good', sha: shas[3] },
    ]);
  });

  it('reads the session of a linked worktree', async () => {
    const base = scratch();
    const { repo, shas } = history(join(base, 'main'));
    repo.git('worktree', 'add', '-q', '--detach', join(base, 'linked'));
    repo.git('-C', join(base, 'linked'), 'bisect', 'start', 'HEAD', shas[0]!);
    expect(await read(repo)).toBeUndefined();
    const linked = await openRepository(join(base, 'linked'), gitEnvironment());
    expect(readBisectLog(linked)?.marks).toHaveLength(2);
  });
});

describe('parseBisectLog', () => {
  const [a, b, c] = ['a'.repeat(40), 'b'.repeat(40), 'c'.repeat(40)] as const;

  it('reads what `git bisect log` saved on another machine', () => {
    const text = `git bisect start\r\n# status: waiting for both good and bad commits\r\n# bad: [${a}] subject\r\ngit bisect bad ${a}\r\n# good: [${b}] s\r\ngit bisect good ${b}\r\n# first bad commit: [${a}] subject\r\n`;
    expect(parseBisectLog(text)).toEqual({
      terms: { good: 'good', bad: 'bad' },
      marks: [
        { mark: 'bad', sha: a },
        { mark: 'good', sha: b },
      ],
      first_bad: a,
      possible: [],
    });
  });

  it('takes back an end after which the session went on', () => {
    const text = `git bisect start\ngit bisect bad ${a}\ngit bisect good ${b}\n# first bad commit: [${a}] s\ngit bisect bad ${c}\n`;
    expect(parseBisectLog(text)).toMatchObject({ first_bad: null, marks: [{}, {}, { mark: 'bad', sha: c }] });
  });

  it('reads quoted arguments and several commits of one command', () => {
    const text = `git bisect start '--term-good' 'it'\\''s' '--term-bad' 'broken'\ngit bisect it's ${a}\ngit bisect broken ${b}\ngit bisect skip ${a} ${c}\n`;
    const log = parseBisectLog(text);
    expect(log.terms).toEqual({ good: "it's", bad: 'broken' });
    expect(log.marks.slice(-2)).toEqual([
      { mark: 'skip', sha: a },
      { mark: 'skip', sha: c },
    ]);
  });

  it('takes the words from BISECT_TERMS where the log has none', () => {
    const text = `git bisect start\ngit bisect slow ${a}\ngit bisect fast ${b}\n`;
    expect(parseBisectLog(text, { good: 'fast', bad: 'slow' }).marks).toEqual([
      { mark: 'bad', sha: a },
      { mark: 'good', sha: b },
    ]);
    expect(parseBisectLog(text).marks).toEqual([]);
  });

  it('survives any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseBisectLog(text).terms.bad).toBeTypeOf('string');
        expect(parseBisectLog(`git bisect start ${text}\n# first ${text} commit: [${a}]`).marks).toBeInstanceOf(Array);
      }),
      { seed: SEED },
    );
  });
});
