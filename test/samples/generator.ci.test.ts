/**
 * The generator's command, and figures of its files against those of Python and of the frameworks. CPython is the judge
 * of the pickle writer: the same values, and the same bytes when it writes them again.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CAUSES_TO_GENERATE } from '../../samples/generate/causes/index.js';
import type { RunPlan } from '../../samples/generate/run.js';
import { LLAMA3_8B } from '../../samples/generate/stories/llama3-8b.js';
import { PyFloat, PyText, PyTuple, type PyValue, pickle } from '../../samples/generate/write/pickle-writer.js';
import { fixed, pythonFloat, scientific } from '../../samples/generate/write/python-text.js';
import { runDirectory, TRUTH_NAME } from '../../samples/generate/write/run-directory.js';
import { runFacts } from '../../samples/generate/write/run-facts.js';
import { bridgeTheoryLines, megatronLmTheoryLines } from '../../samples/generate/write/theory-lines.js';
import { sharedBuild } from '../store/scratch.js';
import { hasPython, skipLoudly } from '../support/corpus.js';
import { lastAttempt } from '../support/generated-runs.js';
import type { RunTruth } from '../support/run-truth.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const RUN = CAUSES_TO_GENERATE[0]!.build(20_261);
const root = temporaryDirectory();
const JUDGE = `
import json, pickle, sys
data = open(sys.argv[1], 'rb').read()
value = pickle.loads(data)
json.dump({'same': pickle.dumps(value, protocol=4) == data, 'value': value}, open(sys.argv[2], 'w'))
`;

if (!hasPython) skipLoudly('numbers and pickles of CPython', 'python3');

describe.runIf(hasPython)('numbers', () => {
  it('are printed as Python prints them, ties included', () => {
    const values = [0.125, 0.375, 317.625, 317.875, 1e-5, 0.1, 73_728.005, 19_706.6, 2 ** 40 + 0.5, 3e-5, 1e16, 0];
    const code =
      'import json,sys; print(json.dumps([["%.1f"%v, "%.2f"%v, "%.3f"%v, repr(float(v)), "%.6E"%v] for v in json.load(sys.stdin)]))';
    const python = spawnSync('python3', ['-c', code], { encoding: 'utf8', input: JSON.stringify(values) });
    const ours = values.map((v) => [fixed(v, 1), fixed(v, 2), fixed(v, 3), pythonFloat(v), scientific(v)]);
    expect(ours).toEqual(JSON.parse(python.stdout));
  });
});

describe('configuration', () => {
  it('prints the theoretical footprint both projects compute', () => {
    // Llama 3 8B, TP 2 × DP 4 with sequence parallelism and selective recomputation, and TP 1 × DP 8 without: figures
    // of the upstream functions for these inputs.
    const plan: RunPlan = {
      ...lastAttempt(RUN).plan,
      model: LLAMA3_8B,
      parallelism: { tensor: 2, pipeline: 1, virtualPipeline: null, data: 4, sequenceParallel: true },
      recompute: 'selective',
      sequenceLength: 8192,
      microBatchSize: 1,
      globalBatchSize: 32,
    };
    const { form } = runFacts(RUN);
    const last = (lines: readonly string[]): string => lines.findLast((line) => line !== '')!;
    const weights = 'Theoretical memory footprints: weight and optimizer=34463.29 MB';
    for (const lines of [bridgeTheoryLines(plan), megatronLmTheoryLines(plan, { ...form, wholeNorms: true })])
      expect(last(lines)).toBe(`${weights}, activation=18468.03 MB, total=52931.32 MB`);
    const full: RunPlan = { ...plan, parallelism: { ...plan.parallelism, sequenceParallel: false }, recompute: 'full' };
    expect(last(bridgeTheoryLines(full))).toBe(weights);
    expect(last(megatronLmTheoryLines(full, { ...form, activationWithoutSp: true }))).toContain(
      'activation=24807.37 MB',
    );
  });
});

describe('main', () => {
  const main = (...args: string[]) =>
    spawnSync(process.execPath, [join(sharedBuild(), 'samples', 'generate', 'main.js'), ...args], { encoding: 'utf8' });

  it('writes what the function builds', () => {
    const files = runDirectory(RUN);
    const { logs, snapshots } = JSON.parse(String(files.get(TRUTH_NAME))) as RunTruth;
    const out = join(root, 'by-main');
    const run = main('--cause', RUN.causeName, '--seed', String(RUN.seed), '--out', out, '--gzip');
    expect(run.stderr).toBe('');
    expect(run.status).toBe(0);
    expect(readFileSync(join(out, logs[0]!)).equals(files.get(logs[0]!)!)).toBe(true);
    const [snapshot] = snapshots;
    if (snapshot !== undefined) {
      const packed = readFileSync(join(out, `${snapshot.file}.gz`));
      expect(gunzipSync(packed).equals(files.get(snapshot.file)!)).toBe(true);
    }
    expect(main('--list').stdout.trimEnd().split('\n').length).toBe(CAUSES_TO_GENERATE.length);
  });

  it.each([
    [['--cause', 'nonsense', '--seed', '1', '--out', 'x'], /no cause is called nonsense/],
    [['--cause', 'capacity', '--out', 'x'], /--seed needs a whole number/],
    [['--cause', 'capacity', '--seed', '1.5', '--out', 'x'], /--seed needs a whole number/],
    [['--cause', 'capacity', '--seed', '1'], /--out needs a directory/],
    [['--cause', 'capacity', '--seed', '1', '--out', 'x', '--max-entries', '0'], /--max-entries needs a whole number/],
    [['--frobnicate'], /frobnicate/],
  ])('%j is a mistake of the caller', (args, said) => {
    const out = join(root, 'never-written');
    const run = main(...args.map((arg) => (arg === 'x' ? out : arg)));
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(said);
    expect(run.stderr).toContain('usage: ');
    expect(existsSync(out)).toBe(false);
  });
});

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

describe.runIf(hasPython)('pickles, read by CPython', () => {
  function judge(path: string): { readonly same: boolean; readonly value: unknown } {
    const out = join(root, 'judged.json');
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
    const path = join(root, 'value.pickle');
    writeFileSync(path, pickle(value));
    const judged = judge(path);
    expect(judged.value).toEqual(JSON.parse(JSON.stringify(plain(value))));
    expect(judged.same).toBe(true);
  });

  it('shares one object per identity', () => {
    const shared: PyValue[] = [1];
    const path = join(root, 'shared.pickle');
    writeFileSync(path, pickle([shared, shared, [1]]));
    const code = 'import pickle,sys; a,b,c=pickle.load(open(sys.argv[1],"rb")); print(a is b, a is c)';
    expect(spawnSync('python3', ['-c', code, path], { encoding: 'utf8' }).stdout.trim()).toBe('True False');
  });
});
