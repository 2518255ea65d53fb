/** Records of a bisection that are damaged, or made to harm: one error with the file, whatever is in the folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { lockSession } from '../../src/findings/flows/bisect/lock.js';
import {
  bisectStoreFile,
  checkComparable,
  keepJudgement,
  openSession,
  readSession,
  runDirectory,
} from '../../src/findings/flows/bisect/session.js';
import type { MbfError } from '../../src/model/errors.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const SHA = 'a'.repeat(40);
const SHA_B = 'b'.repeat(40);
const SESSION = {
  schema: 'mbforensics/bisect-session@1',
  ...{ criterion: 'oom', golden: 'g', like: null, tolerance: null, allowed: [], command: ['./launch.sh'] },
  started_at: '2026-01-01T00:00:00Z',
} as const;
const CHECK = { name: 'peak', golden: 1, current: 2, unit: 'bytes', status: 'pass', relative: 1, tolerance: 0.1 };
const CHANGE = { key: 'k', golden: null, current: 'x', way: 'up', is_contract: true };
const JUDGEMENT = {
  schema: 'mbforensics/bisect-judgement@1',
  ...{ sha: SHA, subject: 's', judgement: 'good', reason: 'r', evidence: [], checks: [CHECK], settings: [CHANGE] },
  ...{ runs: ['run'], judged_at: '2026-01-02T00:00:00Z' },
};

const base = temporaryDirectory();
let number = 0;
let gitDir = '';
const repository = () => ({ root: gitDir, gitDir, environment: {} });
const inState = (...parts: string[]): string => join(gitDir, 'mbforensics', 'bisect', ...parts);

function write(file: string, content: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

beforeEach(() => {
  number += 1;
  gitDir = join(base, `${number}`);
  write(inState('one', 'session.json'), SESSION);
  write(inState('one', SHA, 'judgement.json'), JUDGEMENT);
});

const refusal = (question: Promise<unknown>): Promise<{ code: string; file: string | undefined; message: string }> =>
  question.then(
    () => expect.fail('it was accepted'),
    ({ code, place, message }: MbfError) => ({ code, file: place.file, message }),
  );

describe('readSession', () => {
  it('reads the one judged last, or the one named, whatever else is in the folder', async () => {
    write(inState('two', 'session.json'), { ...SESSION, criterion: 'memory', started_at: '2026-01-01T12:00:00Z' });
    write(inState('no session', 'x'), '');
    write(inState('one', 'session.json.17.tmp'), '{');
    write(inState('one', SHA_B, 'run-1', 'launch.log'), '');
    const read = await readSession(repository(), undefined);
    expect(read).toMatchObject({ id: 'one', judgements: [{ sha: SHA }], log: '' });
    expect((await readSession(repository(), 'two')).record.criterion).toBe('memory');
    for (const id of ['three', '..', '../bisect/one', '', 'no session', 'one/'])
      expect((await refusal(readSession(repository(), id))).code).toBe('MBF1002');
    rmSync(inState(), { recursive: true });
    expect((await refusal(readSession(repository(), undefined))).code).toBe('MBF1002');
  });

  it('reads records of earlier versions', async () => {
    const { settings: _, ...earlier } = JUDGEMENT;
    const { allowed: __, ...session } = SESSION;
    write(inState('one', 'session.json'), session);
    write(inState('one', SHA, 'judgement.json'), earlier);
    expect((await readSession(repository(), undefined)).judgements).toHaveLength(1);
  });

  it.each([
    ['', /JSON/],
    ['{', /JSON/],
    ['null', /everything/],
    ['[]', /everything/],
    ['"x"', /everything/],
    ['{}', /schema/],
    [{ ...JUDGEMENT, schema: 'mbforensics/bisect-judgement@2' }, /schema/],
    [{ ...JUDGEMENT, judgement: 'constructor' }, /judgement/],
    [{ ...JUDGEMENT, sha: SHA_B }, /another commit/],
    [{ ...JUDGEMENT, runs: null }, /runs/],
    [{ ...JUDGEMENT, runs: [1] }, /runs/],
    [{ ...JUDGEMENT, checks: {} }, /checks/],
    [{ ...JUDGEMENT, checks: [null] }, /checks/],
    [{ ...JUDGEMENT, checks: [{ ...CHECK, relative: '1' }] }, /checks/],
    [{ ...JUDGEMENT, settings: null }, /settings/],
    [{ ...JUDGEMENT, settings: [{ ...CHANGE, key: 1 }] }, /settings/],
    [{ ...JUDGEMENT, judged_at: 1 }, /judged_at/],
    [`{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, /nested/],
    ['['.repeat(4_000_000), /nested/],
    [`"${'x'.repeat(5_000_000)}"`, /larger than 4.00 MiB/],
  ])('refuses judgement %#', async (content, message) => {
    const file = inState('one', SHA, 'judgement.json');
    write(file, content);
    const refused = await refusal(readSession(repository(), undefined));
    expect([refused.code, refused.file]).toEqual(['MBF2962', file]);
    expect(refused.message).toMatch(message);
    expect((await refusal(checkComparable({ id: 'one', directory: inState('one') }))).code).toBe('MBF2962');
  });

  it.each([{}, null, { ...SESSION, command: 'x' }, { ...SESSION, criterion: undefined }, { ...SESSION, schema: 'x' }])(
    'refuses the session %j',
    async (content) => {
      write(inState('one', 'session.json'), content);
      const refused = await refusal(readSession(repository(), undefined));
      expect([refused.code, refused.file]).toEqual(['MBF2962', inState('one', 'session.json')]);
    },
  );

  it('reads neither pipes, devices nor links', async () => {
    for (const name of ['one/session.json', `one/${SHA}/judgement.json`, 'one/BISECT_LOG', '../../BISECT_LOG']) {
      const file = inState(name);
      const kept = join(base, 'kept');
      const text = name.endsWith('BISECT_LOG') ? undefined : readFileSync(file, 'utf8');
      write(kept, text ?? '');
      for (const make of [
        () => execFileSync('mkfifo', [file]),
        () => symlinkSync('/dev/zero', file),
        () => symlinkSync(kept, file),
        () => mkdirSync(file),
      ]) {
        rmSync(file, { force: true, recursive: true });
        make();
        const refused = await refusal(readSession(repository(), undefined));
        expect([refused.code, refused.file]).toEqual(['MBF2962', file]);
      }
      rmSync(file, { recursive: true });
      if (text !== undefined) write(file, text);
    }
    expect((await readSession(repository(), undefined)).id).toBe('one');
  });

  it('follows no link of a folder, except for the folder of all', async () => {
    const elsewhere = join(base, `elsewhere-${number}`);
    execFileSync('cp', ['-r', join(gitDir, 'mbforensics'), elsewhere]);
    for (const parts of [[], ['one'], ['one', SHA]]) {
      const folder = inState(...parts);
      rmSync(folder, { recursive: true });
      symlinkSync(join(elsewhere, 'bisect', ...parts), folder);
      expect(await refusal(readSession(repository(), undefined))).toMatchObject({ code: 'MBF2962', file: folder });
      rmSync(folder);
      execFileSync('cp', ['-r', join(elsewhere, 'bisect', ...parts), folder]);
    }
    rmSync(join(gitDir, 'mbforensics'), { recursive: true });
    symlinkSync(elsewhere, join(gitDir, 'mbforensics'));
    expect((await readSession(repository(), undefined)).judgements).toHaveLength(1);
  });

  it('reads a limited number of records', async () => {
    for (let i = 0; i < 70; i += 1) {
      const sha = i.toString(16).padStart(40, '0');
      write(inState('one', sha, 'judgement.json'), { ...JUDGEMENT, sha, evidence: 'x'.repeat(i < 3 ? 4_000_000 : 0) });
    }
    expect((await readSession(repository(), undefined)).judgements).toHaveLength(71);
    for (let i = 0; i < 1_000; i += 1) mkdirSync(inState('one', `f${i.toString(16).padStart(39, '0')}`));
    expect((await refusal(readSession(repository(), undefined))).message).toBe('more than 1000 entries');
  });
});

describe('a bisection that is judged', () => {
  it('writes through no link', async () => {
    const target = join(base, `target-${number}`);
    write(join(target, 'run-1', 'precious'), 'x');
    const session = { id: 'one', directory: inState('one') };
    symlinkSync(target, inState('one', SHA_B));
    expect((await refusal(runDirectory(session, SHA_B, 1))).code).toBe('MBF2962');
    expect(readFileSync(join(target, 'run-1', 'precious'), 'utf8')).toBe('x');
    rmSync(inState('one', SHA_B));
    const file = inState('one', SHA, 'judgement.json');
    symlinkSync(join(target, 'run-1', 'precious'), `${file}.${process.pid}.tmp`);
    await keepJudgement(session, JUDGEMENT as never);
    expect(readFileSync(join(target, 'run-1', 'precious'), 'utf8')).toBe('x');
    expect((await readSession(repository(), 'one')).judgements).toHaveLength(1);
    symlinkSync(join(target, 'store'), inState('bisect.duckdb'));
    expect(() => bisectStoreFile(repository())).toThrow('is not a regular file');
  });

  it('keeps the log of git, and refuses one that is a pipe', async () => {
    write(join(gitDir, 'BISECT_LOG'), 'git bisect start\n# bad: x\n');
    const { id, directory } = await openSession(repository(), SESSION);
    expect(readFileSync(join(directory, 'BISECT_LOG'), 'utf8')).toContain('# bad: x');
    expect((await openSession(repository(), SESSION)).id).toBe(id);
    rmSync(join(gitDir, 'BISECT_LOG'));
    execFileSync('mkfifo', [join(gitDir, 'BISECT_LOG')]);
    expect(await refusal(openSession(repository(), SESSION))).toMatchObject({ file: join(gitDir, 'BISECT_LOG') });
  });

  it('is judged by one process at a time', () => {
    const file = inState('one', 'running.json');
    const unlock = lockSession(inState('one'));
    expect(() => lockSession(inState('one'))).toThrow(`process ${process.pid}`);
    unlock();
    lockSession(inState('one'))();
    // A process that was killed.
    const host = hostname();
    write(file, JSON.stringify({ pid: 999_999_999, host }));
    lockSession(inState('one'))();
    for (const content of ['', '{}', JSON.stringify({ pid: 999_999_999, host: 'other-node' })]) {
      write(file, content);
      expect(() => lockSession(inState('one'))).toThrow('another `bisect run` is running');
    }
    rmSync(file);
  });
});
