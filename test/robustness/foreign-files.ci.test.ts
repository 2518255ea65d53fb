/** Foreign files in a run directory, or named by mistake: one clear error or a skip, and the right exit code. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { wordsOf } from '../support/cli.js';
import { snapshotPickle } from '../support/small-snapshot.js';
import { cliBelow, expectCliError, temporaryDirectory } from './harness.js';

const GIB = 1024 ** 3;
const root = temporaryDirectory();
const ask = cliBelow(root);
const good = snapshotPickle();

/** A directory with these files: a content, the size of a hole, or the target of a link. */
function directoryOf(name: string, files: Readonly<Record<string, string | Buffer | number | { to: string }>>): string {
  const cwd = join(root, name);
  for (const [file, content] of Object.entries(files)) {
    const path = join(cwd, file);
    mkdirSync(join(path, '..'), { recursive: true });
    if (typeof content === 'number') {
      writeFileSync(path, '');
      truncateSync(path, content);
    } else if (typeof content === 'string' || Buffer.isBuffer(content)) writeFileSync(path, content);
    else symlinkSync(content.to, path);
  }
  return cwd;
}
const makePipe = (path: string): void => expect(spawnSync('mkfifo', [path]).status).toBe(0);

it('an empty file that is named: exit 4, MBF2004', () => {
  const cwd = directoryOf('empty-file', { 'x.pickle': '' });
  for (const verb of ['snapshot', 'diagnose', 'peak', 'runs', 'sources'])
    expectCliError(ask(cwd, ...wordsOf(verb), 'x.pickle'), 4, 'MBF2004', 'x.pickle: is empty');
  const answer = ask(cwd, 'ingest', 'x.pickle', '--json=full');
  expect(answer.status).toBe(4);
  expect(answer.json()).toMatchObject({ sources: [{ status: 'failed', error: { code: 'MBF2004' } }] });
});

it('an empty directory: exit 4, MBF2008', () => {
  const cwd = join(root, 'empty-directory');
  mkdirSync(join(cwd, 'run'), { recursive: true });
  for (const verb of ['snapshot', 'diagnose', 'peak', 'ingest'])
    expectCliError(ask(cwd, verb, 'run'), 4, 'MBF2008', 'nothing usable was found');
  expect(ask(cwd, 'ingest', 'run').stderr).toMatch(/error MBF2008: run: nothing usable was found\n/);
});

it('a path that is not there, a pipe: exit 2, MBF1003, and the pipe is not opened', () => {
  const cwd = directoryOf('usage', { other: '' });
  makePipe(join(cwd, 'pipe.pickle'));
  expectCliError(ask(cwd, 'ingest', 'missing'), 2, 'MBF1003', 'no such file');
  for (const verb of ['ingest', 'snapshot']) expectCliError(ask(cwd, verb, 'pipe.pickle'), 2, 'MBF1003', 'a pipe');
});

it('a directory of everything at once: what is good is kept', () => {
  const unreadable = process.getuid?.() !== 0;
  const cwd = directoryOf('mixed', {
    'run/snapshot_0.pickle': good,
    'run/snapshot_1.pickle': good.subarray(0, 500),
    'run/snapshot_2.pickle': '',
    'run/evil\nname.pickle': good.subarray(0, 400),
    'run/report.nsys-rep': 'closed',
    'run/stderr.log': '',
    'run/model_00.pt': 10 * GIB,
    'run/deep/er/up': { to: '..' },
    'run/loop': { to: 'loop' },
    'run/deep/self': { to: join(root, 'mixed', 'run') },
    ...(unreadable ? { 'run/secret.pickle': good } : {}),
  });
  makePipe(join(cwd, 'run', 'pipe.log'));
  if (unreadable) chmodSync(join(cwd, 'run', 'secret.pickle'), 0);
  const answer = ask(cwd, 'ingest', 'run', '--json=full', '--db', 'a.duckdb');
  expect(answer.status).toBe(4);
  const { sources } = answer.json<{
    sources: { path: string; status: string; error: { code: string } | null; notes: { kind: string }[] }[];
  }>();
  const outcome = sources.map(({ path, error, notes, status }) => [path, error?.code ?? notes[0]?.kind ?? status]);
  expect(Object.fromEntries(outcome)).toMatchObject({
    'snapshot_0.pickle': 'ingested',
    'snapshot_1.pickle': 'MBF2101',
    'snapshot_2.pickle': 'MBF2004',
    'evil\nname.pickle': 'MBF2101',
    'report.nsys-rep': 'MBF2003',
    'stderr.log': 'MBF2004',
    'model_00.pt': 'checkpoint',
    'pipe.log': 'special',
    loop: 'broken-link',
    ...(unreadable ? { 'secret.pickle': 'MBF2007' } : {}),
  });
  const counted = ask(cwd, 'sql', 'SELECT count(*) AS n FROM event', '--db', 'a.duckdb', '--format', 'csv');
  expect(counted.stdout).toBe('n\n9\n');
  expect(ask(cwd, 'snapshot', '--db', 'a.duckdb')).toMatchObject({ status: 4, stderr: '' });
});

it('a directory with nothing wrong but strangers: exit 0', () => {
  const files = { 'snapshot_0.pickle': good, 'report.nsys-rep': 'closed', 'model_00.pt': 10 * GIB, up: { to: '..' } };
  const cwd = directoryOf(
    'strangers',
    Object.fromEntries(Object.entries(files).map(([k, file]) => [`run/${k}`, file])),
  );
  expect(ask(cwd, 'ingest', 'run')).toMatchObject({ status: 0, stderr: '' });
});

it('a file name with control characters is a name like any other', () => {
  const name = 'evil\nname\u001b[31m.pickle';
  const answer = ask(directoryOf('names', { [name]: good.subarray(0, 400) }), 'snapshot', name);
  expect(answer.status).toBe(4);
  expect(answer.stderr).toMatch(/^mbforensics: error MBF2101: /);
});
