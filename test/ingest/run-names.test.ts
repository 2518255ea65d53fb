import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { freeName, planRuns } from '../../src/ingest/discover/names/run-names.js';
import { scratchDirectory } from '../store/scratch.js';

let root = '';
const make = (path: string): string => {
  const full = join(root, path);
  mkdirSync(full, { recursive: true });
  return full;
};

beforeEach(() => {
  root = realpathSync(scratchDirectory());
});

describe('planRuns', () => {
  it('makes one run of all paths, named by the first, and with --each one of every path', async () => {
    const [a, b] = [make('runs/a'), make('runs/b')];
    writeFileSync(join(root, 'train.log'), 'x');
    const paths = [a, `${b}/`, join(root, 'train.log')];
    const roots = [a, b, join(root, 'train.log')];
    expect(await planRuns(paths, {})).toEqual([{ name: 'a', rootPath: roots.join('\n'), paths: roots, named: false }]);
    const names = ['a', 'b', 'train.log'];
    expect(await planRuns(paths, { each: true })).toEqual(
      roots.map((path, i) => ({ name: names[i], rootPath: path, paths: [path], named: false })),
    );
  });

  it('follows a link to its target, and counts one directory once', async () => {
    const target = make('run-17');
    symlinkSync(target, join(root, 'latest'));
    const plans = await planRuns([join(root, 'latest'), target, join(root, 'run-17', '.')], {});
    expect(plans.map(({ name, rootPath }) => [name, rootPath])).toEqual([['run-17', target]]);
  });

  it('makes one run of all paths with --run', async () => {
    const [a, b] = [make('a'), make('b')];
    expect(await planRuns([a, b], { run: 'night' })).toEqual([
      { name: 'night', rootPath: a, paths: [a, b], named: true },
    ]);
  });

  it('makes a run of every direct subdirectory with --each, in order, without hidden ones and files', async () => {
    for (const name of ['runs/b', 'runs/a/deeper', 'runs/.git']) make(name);
    writeFileSync(join(root, 'runs', 'notes.txt'), 'x');
    const plans = await planRuns([join(root, 'runs')], { each: true });
    expect(plans.map(({ name, named }) => `${name} ${named}`)).toEqual(['a false', 'b false']);
    expect(await planRuns([make('empty')], { each: true })).toEqual([]);
  });

  it('refuses what is not there, and --each on a file', async () => {
    writeFileSync(join(root, 'file'), 'x');
    await expect(planRuns([join(root, 'nowhere')], {})).rejects.toMatchObject({ code: 'MBF1003' });
    await expect(planRuns([join(root, 'file')], { each: true })).rejects.toMatchObject({ code: 'MBF1001' });
  });
});

describe('freeName', () => {
  const taken =
    (...names: string[]) =>
    (name: string): boolean =>
      names.includes(name);

  it('keeps an unused name, then adds the parent, then a number', () => {
    expect(freeName('latest', '/data/x/latest', taken())).toBe('latest');
    expect(freeName('latest', '/data/x/latest', taken('latest'))).toBe('x/latest');
    expect(freeName('latest', '/data/x/latest', taken('latest', 'x/latest'))).toBe('latest-2');
    expect(freeName('latest', '/data/x/latest', taken('latest', 'x/latest', 'latest-2', 'latest-3'))).toBe('latest-4');
  });

  it('adds no parent at the top of the file system', () => {
    expect(freeName('latest', '/latest', taken('latest'))).toBe('latest-2');
    expect(freeName('/', '/', taken('/'))).toBe('/-2');
  });
});
