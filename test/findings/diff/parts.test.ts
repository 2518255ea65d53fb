/** The pieces of a comparison: names of files, pairs of snapshots and devices, callers. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chooseDevices, choosePairs, commonStep } from '../../../src/findings/diff/choose-pair.js';
import { matchPaths } from '../../../src/findings/diff/match-paths.js';
import type { Candidate } from '../../../src/findings/diff/side.js';
import type { StackGroup } from '../../../src/findings/diff/side-stacks.js';
import { splitByCaller } from '../../../src/findings/diff/split-by-caller.js';
import { normalPath } from '../../../src/findings/stacks/normal-path.js';
import { MbfError } from '../../../src/model/errors.js';
import { openWithoutTables } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { SEED } from '../../support/level.js';

describe('normalPath', () => {
  it.each([
    ['/opt/conda/lib/python3.11/site-packages/te/pytorch/linear.py', 'te/pytorch/linear.py'],
    ['/usr/local/lib/python3.12/dist-packages/te/pytorch/linear.py', 'te/pytorch/linear.py'],
    ['/x/site-packages/apex-0.1-py3.10-linux-x86_64.egg/apex/norm.py', 'apex/norm.py'],
    ['C:\\envs\\t\\Lib\\site-packages\\apex\\norm.py', 'apex/norm.py'],
    ['/opt/conda/lib/python3.11/contextlib.py', 'lib/python/contextlib.py'],
    ['/usr/lib/python3.8/contextlib.py', 'lib/python/contextlib.py'],
    ['/home/me/job/./src/../train.py', '/home/me/job/train.py'],
    ['train.py', 'train.py'],
    [`/tmp/torchinductor_me/ab/cab${'x'.repeat(48)}.py`, '<inductor>'],
    [`/scratch/cache/ab/cab${'x'.repeat(48)}.py`, '<inductor>'],
    ['/x/fx_generated_0123abcd.py', '<fx>'],
    ['<eval_with_key>.17 from /x/y.py:3 in forward', '<eval_with_key>'],
    ['<frozen importlib._bootstrap>', '<frozen importlib._bootstrap>'],
    ['<ipython-input-3-0a1b2c>', '<ipython-input>'],
    ['/tmp/ipykernel_4711/123.py', '<ipython-input>'],
  ])('%s → %s', (from, to) => {
    expect(normalPath(from)).toBe(to);
  });
});

describe('matchPaths', () => {
  const files = (...paths: string[]): Map<string, Set<string>> =>
    new Map(paths.map((path) => [path, new Set(['forward'])]));

  it('distinguishes files of one name by the rest of their path', () => {
    const a = files('/p/models/mlp.py', '/p/moe/mlp.py', '/p/moe/router.py');
    const b = files('/q/r/moe/mlp.py', '/q/r/models/mlp.py', '/q/r/moe/router.py');
    expect(matchPaths(a, b).map(({ a: x, b: y, relation }) => `${x} ${y} ${relation}`)).toEqual([
      '/p/models/mlp.py /q/r/models/mlp.py same',
      '/p/moe/mlp.py /q/r/moe/mlp.py same',
      '/p/moe/router.py /q/r/moe/router.py same',
    ]);
  });

  it('leaves files alone that only share a name', () => {
    const a = new Map([['/p/one/utils.py', new Set(['gather'])]]);
    const b = new Map([['/p/two/utils.py', new Set(['log_line'])]]);
    expect(matchPaths(a, b)).toEqual([]);
    expect(matchPaths(files('/p/x/utils.py', '/p/y/utils.py'), files('/q/utils.py'))).toEqual([]);
  });

  it('takes a file for moved if its neighbours stayed, or went elsewhere', () => {
    const beside = (folder: string) => files(`/a/b/c/${folder}/mlp.py`, '/a/b/c/norm.py');
    const stayed = matchPaths(beside('old'), beside('new'));
    expect(stayed.find((pair) => pair.a.endsWith('mlp.py'))?.relation).toBe('moved');
    const project = (root: string, folder: string) =>
      files(`${root}/${folder}/mlp.py`, `${root}/core/norm.py`, `${root}/core/attention.py`);
    const elsewhere = matchPaths(project('/home/me/proj', 'core'), project('/opt/proj2', 'models'));
    expect(elsewhere.map((pair) => pair.relation).sort()).toEqual(['moved', 'same', 'same']);
  });
});

describe('choosePairs', () => {
  const candidate = (rank: number | null, snapshotId: number, devices = [0]): Candidate => ({
    ...{ snapshotId, handle: `run/${rank}/snapshot#${snapshotId}`, path: `${snapshotId}.pickle`, run: 'run', rank },
    devices: devices.map((device) => ({ device, has_trace: true, reserved_bytes: 1 + device, ooms: 0 })),
  });
  let rules: Store;
  beforeAll(async () => {
    rules = await openWithoutTables();
  });
  afterAll(() => rules.close());
  const choose = (a: readonly Candidate[], b: readonly Candidate[], rank?: number) => choosePairs(rules, a, b, rank);
  const ids = async (...sides: Parameters<typeof choose>): Promise<string[]> =>
    (await choose(...sides)).map(({ a, b }) => `${a.snapshotId}-${b.snapshotId}`);

  it('takes the latest of each rank that both have', async () => {
    const a = [candidate(0, 1), candidate(0, 2), candidate(3, 3)];
    const b = [candidate(1, 4), candidate(3, 5), candidate(3, 6), candidate(0, 7)];
    expect(await ids(a, b)).toEqual(['2-7', '3-6']);
    expect(await ids(a, b, 3)).toEqual(['3-6']);
    await expect(choose(a, b, 1)).rejects.toThrow(MbfError);
  });

  it('compares different ranks only where there is no choice', async () => {
    expect(await ids([candidate(0, 1)], [candidate(5, 2)])).toEqual(['1-2']);
    expect(await ids([candidate(null, 1)], [candidate(null, 2)])).toEqual(['1-2']);
    const two = [candidate(5, 2), candidate(6, 3)];
    await expect(choose([candidate(0, 1)], two)).rejects.toThrow(/a has 0, b has 5, 6/);
  });

  it('puts the devices that both have in order of what they hold', async () => {
    const [pair] = await choose([candidate(0, 1, [0, 2, 5])], [candidate(0, 2, [2, 5, 7])]);
    expect(chooseDevices(pair!)).toEqual([
      { a: 5, b: 5 },
      { a: 2, b: 2 },
    ]);
    expect(chooseDevices(pair!, 2)).toEqual([{ a: 2, b: 2 }]);
    expect(() => chooseDevices(pair!, 0)).toThrow(/no memory of device 0; it has 2, 5, 7/);
    const devices = pair!.b.devices.map((entry) => ({ ...entry, ooms: entry.device === 2 ? 1 : 0 }));
    const [died] = await choose([pair!.a], [{ ...pair!.b, devices }]);
    expect(died!.devices[0]).toEqual({ a: 2, b: 2 });
    const [different] = await choose([candidate(0, 1, [0, 4])], [candidate(1, 2, [1, 3])]);
    expect(different!.devices).toEqual([{ a: 4, b: 3 }]);
  });

  it('finds the last step that both have whole', () => {
    expect(commonStep([3, 4, 5, 6], [1, 4, 5])).toEqual({ kind: 'step', step: 5 });
    expect(() => commonStep([3, 4], [])).toThrow(/a has step:3 to 4, b has no whole step/);
  });
});

describe('splitByCaller', () => {
  const group = (callers: readonly string[], bytes: number): StackGroup => ({
    frames: ['gemm /x/gemm.py 1', ...callers].map((text) => {
      const [name, filename, line] = text.split(' ');
      return { name: name!, filename: filename!, line: Number(line) };
    }),
    kind: '',
    bytes,
    count: 1,
  });

  it('goes outwards to where the difference divides', () => {
    const mlp = ['linear /x/linear.py 9', 'mlp /x/block.py 20', 'step /x/train.py 5'];
    const attention = ['linear /x/linear.py 9', 'attention /x/block.py 30', 'step /x/train.py 5'];
    const rows = splitByCaller([group(mlp, 100), group(attention, 50)], [group(mlp, 170), group(attention, 80)]);
    expect(rows).toEqual([
      { caller: 'mlp /x/block.py:20', a_bytes: 100, b_bytes: 170, delta_bytes: 70 },
      { caller: 'attention /x/block.py:30', a_bytes: 50, b_bytes: 80, delta_bytes: 30 },
    ]);
  });

  it('is silent where there is one way in, or the way has another name', () => {
    expect(splitByCaller([group(['main /x/a.py 1'], 100)], [group(['main /x/a.py 1'], 300)])).toEqual([]);
    expect(splitByCaller([group(['main /x/a.py 1'], 100)], [group(['main /x/b.py 1'], 300)])).toEqual([]);
  });

  it('has rows that add up to the difference', () => {
    const caller = fc.constantFrom('f /x/f.py 1', 'f /x/f.py 2', 'g /x/g.py 1', 'h /x/h.py 4');
    const callers = fc.array(caller, { maxLength: 4 });
    const stacks = fc.array(fc.record({ callers, bytes: fc.integer({ min: 1, max: 50 }) }), { maxLength: 12 });
    const groups = (list: readonly { callers: string[]; bytes: number }[]): StackGroup[] =>
      list.map(({ callers, bytes }) => group(callers, bytes));
    const sum = (list: readonly { bytes: number }[]): number => list.reduce((total, one) => total + one.bytes, 0);
    fc.assert(
      fc.property(stacks, stacks, (a, b) => {
        const rows = splitByCaller(groups(a), groups(b));
        if (rows.length === 0) return;
        expect(rows.reduce((total, row) => total + row.delta_bytes, 0)).toBe(sum(b) - sum(a));
        expect(rows.reduce((total, row) => total + row.a_bytes, 0)).toBe(sum(a));
      }),
      { numRuns: 500, seed: SEED },
    );
  });
});
