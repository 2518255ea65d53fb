import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSample, LOG_NAME, TRUTH_NAME } from '../../samples/generate/sample.js';
import { GPUS, runScenario, type Scenario } from '../../samples/generate/scenario.js';
import { PyFloat, PyPair, PyText, type PyValue, pickle } from '../../samples/generate/write/pickle-writer.js';
import { snapshotValue } from '../../samples/generate/write/snapshot-pickle.js';
import { GIB } from '../../src/model/units.js';

const SAMPLES = fileURLToPath(new URL('../../samples/', import.meta.url));
const SAMPLE = join(SAMPLES, 'llama3-fragmentation');

interface RankTruth {
  readonly rank: number;
  readonly device: number;
  readonly snapshot: string;
  readonly traceEntries: number;
  readonly roundedBytes: number;
  readonly segmentBytes: number;
  readonly deviceFreeBytes: number;
  readonly reservedBytes: number;
  readonly allocatedBytes: number;
  readonly holes: number;
  readonly largestHoleBytes: number;
}
const truth = JSON.parse(readFileSync(join(SAMPLE, TRUTH_NAME), 'utf8')) as {
  readonly seed: number;
  readonly cause: string;
  readonly ranks: readonly RankTruth[];
};

describe('the committed sample', () => {
  it('is what the generator writes for its seed, byte for byte', () => {
    const built = buildSample(truth.seed);
    expect(readdirSync(SAMPLE).sort()).toEqual([...built.keys()].sort());
    for (const [name, bytes] of built) {
      expect(bytes.equals(readFileSync(join(SAMPLE, name))), name).toBe(true);
    }
  });

  it('stays small and is described with the command that makes it', () => {
    const bytes = readdirSync(SAMPLE).reduce((sum, name) => sum + readFileSync(join(SAMPLE, name)).length, 0);
    expect(bytes).toBeLessThan(1_000_000);
    const readme = readFileSync(join(SAMPLES, 'README.md'), 'utf8');
    expect(readme).toContain(
      `node dist/samples/generate/main.js --seed ${truth.seed} --out samples/llama3-fragmentation`,
    );
    for (const name of readdirSync(SAMPLE)) expect(readme).toContain(`\`${name}\``);
    for (const rank of truth.ranks) {
      for (const bytesShown of [rank.segmentBytes, rank.allocatedBytes, rank.largestHoleBytes, rank.deviceFreeBytes]) {
        expect(readme).toContain(`${(bytesShown / GIB).toFixed(2)} GiB`);
      }
    }
  });

  it('says in the log what the simulation found', () => {
    const log = readFileSync(join(SAMPLE, LOG_NAME), 'utf8');
    for (const rank of truth.ranks) {
      const line = log.split('\n').find((text) => text.includes(`[rank${rank.rank}]: torch.OutOfMemoryError`));
      expect(line).toContain(
        `Tried to allocate ${(rank.segmentBytes / GIB).toFixed(2)} GiB. GPU ${rank.device} has a total`,
      );
      expect(line).toContain(`${(rank.allocatedBytes / GIB).toFixed(2)} GiB is allocated by PyTorch, and`);
      expect(line).toContain(
        `${((rank.reservedBytes - rank.allocatedBytes) / GIB).toFixed(2)} GiB is reserved by PyTorch but unallocated`,
      );
    }
  });

  it('refuses a seed that does not make it', () => {
    expect(() => buildSample(1)).toThrow(/seed 1 does not make this sample/);
  });
});

// ---------------------------------------------------------------------------------------------------------------------
// CPython as the judge of the pickles: the same values, and the same bytes when it writes them again.

const JUDGE = `
import json, pickle, sys
data = open(sys.argv[1], 'rb').read()
value = pickle.loads(data)
json.dump({'same': pickle.dumps(value, protocol=4) == data, 'value': value}, open(sys.argv[2], 'w'))
`;
const python = spawnSync('python3', ['--version']).status === 0;
if (!python) console.warn('SKIPPED: no python3, so the generated pickles are not checked against CPython');

/** The value as JSON shows it: pairs as arrays. */
function plain(value: PyValue): unknown {
  if (value instanceof PyFloat) return value.value;
  if (value instanceof PyText) return value.text;
  if (value instanceof PyPair) return value.items.map((item) => plain(item));
  if (Array.isArray(value)) return value.map((item) => plain(item));
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, item]) => [typeof key === 'string' ? key : key.text, plain(item)]));
  }
  return value;
}

interface SnapshotJson {
  readonly segments: readonly {
    readonly device: number;
    readonly total_size: number;
    readonly allocated_size: number;
    readonly blocks: readonly { readonly size: number; readonly state: string }[];
  }[];
  readonly device_traces: readonly (readonly {
    readonly action: string;
    readonly size: number;
    readonly device_free?: number;
  }[])[];
}

describe.skipIf(!python)('pickles, read by CPython', () => {
  let directory: string;
  let scenario: Scenario;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'mbf-samples-'));
    scenario = runScenario(truth.seed);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

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
    ['scalars', [true, false, new PyFloat(0.5), 'text', 'ümlaut', 'x'.repeat(300), new PyPair(0, 7)]],
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

  it.each(truth.ranks)('the snapshot of rank $rank shows the out-of-memory state of its truth', (rank) => {
    const judged = judge(join(SAMPLE, rank.snapshot));
    expect(judged.same).toBe(true);
    const run = scenario.failed.find((candidate) => candidate.process.rank === rank.rank)!;
    expect(judged.value).toEqual(plain(snapshotValue(run.process, GPUS)));

    const { segments, device_traces: traces } = judged.value as SnapshotJson;
    expect(traces.map((trace) => trace.length)).toEqual(
      Array.from({ length: GPUS }, (_, device) => (device === rank.device ? rank.traceEntries : 0)),
    );
    const trace = traces[rank.device]!;
    expect(trace[0]).toMatchObject({ action: 'segment_alloc' });
    expect(trace.at(-1)).toMatchObject({ action: 'oom', size: rank.roundedBytes, device_free: rank.deviceFreeBytes });
    expect(segments.every((segment) => segment.device === rank.device)).toBe(true);
    expect(segments.reduce((sum, segment) => sum + segment.total_size, 0)).toBe(rank.reservedBytes);
    expect(segments.reduce((sum, segment) => sum + segment.allocated_size, 0)).toBe(rank.allocatedBytes);
    const holes = segments.flatMap((segment) => segment.blocks.filter((block) => block.state === 'inactive'));
    expect(holes.length).toBe(rank.holes);
    expect(Math.max(...holes.map((hole) => hole.size))).toBe(rank.largestHoleBytes);
    // The last flush left no segment that the driver could have had back.
    expect(segments.every((segment) => segment.allocated_size > 0)).toBe(true);
  });

  it('is a fragmentation by its numbers: enough in sum, no hole large enough', () => {
    expect(truth.cause).toBe('fragmentation');
    expect(truth.ranks).toHaveLength(2);
    for (const rank of truth.ranks) {
      const unallocated = rank.reservedBytes - rank.allocatedBytes;
      expect(unallocated).toBeGreaterThan(10 * GIB);
      expect(unallocated).toBeGreaterThan(rank.segmentBytes);
      expect(rank.largestHoleBytes).toBeLessThan(rank.roundedBytes);
      expect(rank.deviceFreeBytes).toBeLessThan(rank.segmentBytes);
      expect(rank.allocatedBytes + rank.segmentBytes).toBeLessThan(rank.reservedBytes + rank.deviceFreeBytes);
    }
  });
});
