/** CPython as the judge of the pickle writer: the same values, and the same bytes when it writes them again. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PyFloat, PyText, PyTuple, type PyValue, pickle } from '../../samples/generate/write/pickle-writer.js';

const JUDGE = `
import json, pickle, sys
data = open(sys.argv[1], 'rb').read()
value = pickle.loads(data)
json.dump({'same': pickle.dumps(value, protocol=4) == data, 'value': value}, open(sys.argv[2], 'w'))
`;

import { temporaryDirectory } from '../support/temporary-directory.js';

const python = spawnSync('python3', ['--version']).status === 0;
if (!python) console.warn('SKIPPED: no python3, so the generated pickles are not checked against CPython');

/** The value as JSON shows it: pairs as arrays. */
function plain(value: PyValue): unknown {
  if (value instanceof PyFloat) return value.value;
  if (value instanceof PyText) return value.text;
  if (value instanceof PyTuple) return value.items.map((item) => plain(item));
  if (Array.isArray(value)) return value.map((item) => plain(item));
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, item]) => [typeof key === 'string' ? key : key.text, plain(item)]));
  }
  return value;
}

describe.skipIf(!python)('pickles, read by CPython', () => {
  const directory = temporaryDirectory();

  function judge(path: string): { readonly same: boolean; readonly value: unknown } {
    const out = join(directory, 'judged.json');
    const run = spawnSync('python3', ['-c', JUDGE, path, out], { encoding: 'utf8' });
    expect(run.stderr).toBe('');
    return JSON.parse(readFileSync(out, 'utf8')) as { same: boolean; value: unknown };
  }

  it.each<readonly [string, PyValue]>([
    [
      'integers',
      [0, 255, 256, 65_535, 65_536, -1, -(2 ** 31), 2 ** 31 - 1, 2 ** 31, 2 ** 39 - 1, 2 ** 39, 2 ** 47, 2 ** 53 - 1],
    ],
    ['scalars', [true, false, new PyFloat(0.5), 'text', 'ümlaut', 'x'.repeat(300), new PyTuple(0, 7)]],
    ['empty and single', [[], new Map(), [1], new Map([['one', 1]])]],
    [
      'batches',
      [Array.from({ length: 1001 }, (_, i) => i), new Map(Array.from({ length: 2000 }, (_, i) => [`k${i}`, i]))],
    ],
    ['own strings', [new PyText('same text'), new PyText('same text'), 'shared', 'shared']],
    [
      'more than one frame',
      Array.from({ length: 20_000 }, (_, i) => new Map<string, PyValue>([['address', 2 ** 46 + i]])),
    ],
  ])('%s', (_, value) => {
    const path = join(directory, 'value.pickle');
    writeFileSync(path, pickle(value));
    const judged = judge(path);
    expect(judged.value).toEqual(JSON.parse(JSON.stringify(plain(value))));
    expect(judged.same).toBe(true);
  });

  it('shares one object per identity', () => {
    const shared: PyValue[] = [1];
    const path = join(directory, 'shared.pickle');
    writeFileSync(path, pickle([shared, shared, [1]]));
    const code = 'import pickle,sys; a,b,c=pickle.load(open(sys.argv[1],"rb")); print(a is b, a is c)';
    expect(spawnSync('python3', ['-c', code, path], { encoding: 'utf8' }).stdout.trim()).toBe('True False');
  });
});
