/** The hand-made pickles are what CPython takes them for; otherwise the other tests here would prove nothing. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PyFloat, PyTuple, pickled } from '../../samples/generate/write/pickle-writer.js';
import { hasPython, skipLoudly } from '../support/corpus.js';
import { python } from '../support/python-truth.js';
import { snapshot, trace } from '../support/small-snapshot.js';
import { temporaryDirectory } from './harness.js';
import { FIRING } from './malicious.js';

describe('hand-made pickles', () => {
  if (!hasPython) return skipLoudly('hand-made pickles', 'python3');
  const directory = temporaryDirectory();

  it.each([2, 3, 4, 5])('protocol %i loads as its value', (protocol) => {
    const path = join(directory, `p${protocol}.pickle`);
    const value = snapshot({
      device_traces: [trace(2500), [], trace(1)],
      odd: [null, true, -1, 65_536, -(2 ** 40), 2n ** 63n, new PyFloat(1.5), 'ä', new PyTuple(1, 2, 3, 4)],
    });
    writeFileSync(path, pickled(value, { protocol }));
    const script =
      'import json,pickle,sys\nv=pickle.load(open(sys.argv[1],"rb"))\nf=v["device_traces"][0]\nprint(json.dumps([[len(t) for t in v["device_traces"]],f[2400],v["odd"],f[0]["frames"] is f[2499]["frames"]]))';
    expect(JSON.parse(python(script, [path]))).toEqual([
      [2500, 0, 1],
      JSON.parse(JSON.stringify(trace(2401)[2400])),
      [null, true, -1, 65_536, -(2 ** 40), 2 ** 63, 1.5, 'ä', [1, 2, 3, 4]],
      true,
    ]);
  });

  it.each(Object.keys(FIRING))('%s really runs code where pickle.load reads it', (name) => {
    const canary = join(directory, `fired-${name}`);
    const path = join(directory, `${name}.pickle`);
    writeFileSync(path, FIRING[name]!(`touch ${canary}`).bytes);
    python('import pickle,sys\npickle.load(open(sys.argv[1],"rb"))', [path]);
    expect(existsSync(canary)).toBe(true);
  });
});
