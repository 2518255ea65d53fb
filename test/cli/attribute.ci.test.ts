/**
 * `attribute` as a user has it: sums, keys, several devices, annotated sources, rules of one's own, and every way to
 * ask for nonsense.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ATTRIBUTE_KEYS, type AttributedDevice, type AttributeResult } from '../../src/model/results/attribute.js';
import type { PeakResult } from '../../src/model/results/common.js';
import { COMPONENTS } from '../../src/model/vocabulary.js';
import { repoRoot } from '../store/scratch.js';
import { asker, byComponent, expectFits, sum } from '../support/ask.js';
import { type Act, recordProgram } from '../support/recorded-program.js';

const SAMPLES = join(repoRoot, 'samples');
const LEAK = join(SAMPLES, 'leak');
const FRAGMENTATION = join(SAMPLES, 'llama3-70b-fragmentation', 'snapshot_oom_rank-0.pickle.gz');
const MIB = 2 ** 20;

/** Lines 3 and 4 of `net.py` build, 7 and 8 run; the recording knows a ninth, which the file here does not have. */
const NET = 'import torch\nclass Net:\n    w = 1\n    b = 2\n\ndef forward(self):\n    x = 3\n    return x\n';
const MAIN = ['<module> /home/u/train.py:40'];
const build = (line: number) => [`__init__ /home/u/pkg/net.py:${line}`, ...MAIN];
const forward = (line: number) => [
  `forward /home/u/pkg/net.py:${line}`,
  '_call_impl /usr/lib/python3.12/site-packages/torch/nn/modules/module.py:1750',
  'forward /home/u/pkg/net.py:8',
  '_call_impl /usr/lib/python3.12/site-packages/torch/nn/modules/module.py:1750',
  ...MAIN,
];
const PROGRAM: readonly Act[] = [
  { alloc: 'w', bytes: 30 * MIB, stack: build(3) },
  { alloc: 'b', bytes: 4 * MIB, stack: build(4) },
  { alloc: 'a', bytes: 8 * MIB, stack: forward(7) },
  { alloc: 'c', bytes: 2 * MIB, stack: forward(9) },
];
const MY_RULES = `rules:
  - id: mine.cache
    component: kv_cache
    sub_component: pages
    at: { file: pkg/net.py, function: forward }
    when: { min_bytes: ${4 * MIB} }
`;

const { mbf, text, json, refuse, put } = asker();
beforeAll(() => {
  put('ranks/snapshot_0.pickle', recordProgram(PROGRAM));
  put('ranks/snapshot_1.pickle', recordProgram([...PROGRAM, { free: 'c' }, { oom: 64 * MIB }]));
  put('net.py', NET);
  put('mine.yaml', MY_RULES);
});

const attribute = (...args: string[]) => json<AttributeResult>('attribute', ...args);
const only = ({ devices }: AttributeResult): AttributedDevice => {
  expect(devices).toHaveLength(1);
  return devices[0]!;
};

describe('attribute', () => {
  it('is a document of this shape', () => {
    const result = attribute(LEAK);
    const keys = 'devices,left_out,moment,rules_file,rules_version,schema';
    expect(Object.keys(result).sort().join()).toBe(keys);
    expect(result).toMatchObject({ schema: 'mbforensics/attribute@1', moment: 'peak', rules_file: null, left_out: [] });
    const device = only(result);
    expect(Object.keys(device).sort().join()).toBe(
      'accumulation,basis,blocks,components,device,handle,lifetime,path,rank,reserved_bytes,seq,stage,total_bytes',
    );
    expect(device).toMatchObject({ rank: 0, stage: 0, device: 0, basis: 'actual', lifetime: { rule: 'steps' } });
    for (const row of device.components) {
      expect(Object.keys(row).sort().join()).toBe(
        'blocks,by,bytes,component,confidence,phase,requested_bytes,resident_bytes,rules,sub_component',
      );
      expect(COMPONENTS).toContain(row.component);
      expect(row.rules.length === 0).toBe(row.by === 'none');
      expect(row.resident_bytes).toBeLessThanOrEqual(row.bytes);
      expect(row.requested_bytes).toBeLessThanOrEqual(row.bytes);
    }
    const descending = device.components.map(({ bytes }) => bytes);
    expect(descending).toEqual([...descending].sort((a, b) => b - a));
  });

  it.each(['peak', 'oom', 'start', 'seq:12345', 'end'])('adds up to the figures of peak at %s', (moment) => {
    const attributed = only(attribute(FRAGMENTATION, '--at', moment));
    const peak = json<PeakResult>('peak', FRAGMENTATION, '--at', moment).snapshots[0]!.devices[0]!;
    expect([attributed.seq, attributed.total_bytes, attributed.blocks, attributed.reserved_bytes]).toEqual([
      peak.seq,
      peak.active_bytes,
      peak.blocks,
      peak.reserved_bytes,
    ]);
    expect(sum(attributed.components, ({ bytes }) => bytes)).toBe(peak.active_bytes);
    expect(sum(attributed.components, ({ blocks }) => blocks)).toBe(peak.blocks);
    const resident = sum([...peak.groups, peak.other_groups], (group) => group.resident_bytes ?? 0);
    expect(sum(attributed.components, (row) => row.resident_bytes ?? 0)).toBe(resident);
  });

  it.each(ATTRIBUTE_KEYS)('--by %s adds up, whatever is left out, of all and of one component', (by) => {
    const all = only(attribute(FRAGMENTATION, '--at', 'oom', '--by', by, '--limit', '0'));
    expect(sum(all.groups!, ({ bytes }) => bytes)).toBe(all.total_bytes);
    expect(sum(all.groups!, ({ blocks }) => blocks)).toBe(all.blocks);
    expect(all.other_groups).toEqual({ groups: 0, bytes: 0, blocks: 0 });
    const few = only(attribute(FRAGMENTATION, '--at', 'oom', '--by', by, '--limit', '2', '--component', 'activation'));
    const activation = all.components.filter(({ component }) => component === 'activation');
    expect(few.groups).toEqual(all.groups!.filter(({ component }) => component === 'activation').slice(0, 2));
    expect(sum(few.groups!, ({ bytes }) => bytes) + few.other_groups!.bytes).toBe(sum(activation, (row) => row.bytes));
    expect(few.components).toEqual(all.components);
  });

  it('finds lines that cover at least the share asked for', () => {
    const shares = ['10', '50', '90'].map((share) => {
      const [all, ...parts] = only(attribute(LEAK, '--share', share)).accumulation;
      expect(all!.component).toBeNull();
      for (const point of [all!, ...parts])
        if (point.frame !== null) expect(100 * point.share).toBeGreaterThanOrEqual(+share);
      return all!.share;
    });
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares[0]).toBeLessThan(shares[2]!);
  });

  it('has every device, those without the moment by name, and one alone', () => {
    const both = attribute('ranks');
    expect(both.devices.map(({ rank, total_bytes, blocks }) => [rank, total_bytes, blocks])).toEqual([
      [0, 44 * MIB, 4],
      [1, 44 * MIB, 4],
    ]);
    expect(byComponent(both.devices[1]!.components)).toEqual({ parameter: 34 * MIB, activation: 10 * MIB });
    const failed = attribute('ranks', '--at', 'oom');
    expect(only(failed)).toMatchObject({ rank: 1, total_bytes: 42 * MIB });
    expect(failed.left_out).toEqual([
      {
        path: expect.stringContaining('snapshot_0.pickle') as string,
        device: 0,
        reason: expect.stringContaining('oom') as string,
      },
    ]);
    expect(attribute('ranks', '--device', '0').devices).toHaveLength(2);
    expect(refuse(2, 'attribute', 'ranks', '--device', '7')).toContain('MBF1002');
    const { stdout } = mbf('attribute', 'ranks');
    expect(stdout).toMatch(/^rank +device +live +parameter +activation +other$/m);
    expect(stdout).toMatch(/^ *1 .* 44\.00 MiB +34\.00 MiB +10\.00 MiB +0 B$/m);
  });

  it('lists a source file with what was live through its lines', () => {
    const { annotated } = attribute('ranks/snapshot_0.pickle', '--annotate', 'net.py');
    expect(annotated).toMatchObject({ file: 'net.py', matched: ['/home/u/pkg/net.py'], beyond_bytes: 2 * MIB });
    const bytes = annotated!.lines.map(({ line, bytes: through, self_bytes }) => [
      line,
      self_bytes / MIB,
      through / MIB,
    ]);
    expect(bytes.filter(([, , through]) => through! > 0)).toEqual([
      [3, 30, 30],
      [4, 4, 4],
      [7, 8, 8],
      [8, 0, 10],
    ]);
    const { stdout } = mbf('attribute', 'ranks/snapshot_0.pickle', '--annotate', 'net.py', '--component', 'parameter');
    expect(stdout).toContain('  30.00 MiB   30.00 MiB     3      w = 1');
    expect(stdout).not.toContain('x = 3');
    put('other.py', NET);
    expect(mbf('attribute', 'ranks', '--annotate', 'other.py').stdout).toContain(
      'no frame of the recording is of a file',
    );
  });

  it('tries a rules file before its own rules', () => {
    const plain = only(attribute('ranks/snapshot_0.pickle'));
    const mine = attribute('ranks/snapshot_0.pickle', '--rules', 'mine.yaml');
    expect(mine.rules_file).toBe('mine.yaml');
    expect(byComponent(plain.components)).toEqual({ parameter: 34 * MIB, activation: 10 * MIB });
    expect(byComponent(only(mine).components)).toEqual({ parameter: 34 * MIB, kv_cache: 8 * MIB, activation: 2 * MIB });
    expect(only(mine).components.find(({ component }) => component === 'kv_cache')).toMatchObject({
      sub_component: 'pages',
      by: 'rule',
      rules: ['mine.cache'],
    });
  });

  it('prints the content of the JSON as text, within 100 columns', () => {
    for (const args of [[LEAK], [FRAGMENTATION, '--at', 'oom', '--by', 'sub'], ['ranks', '--by', 'layer']]) {
      const { stdout, stderr } = mbf('attribute', ...args);
      expect(stderr).toBe('');
      expectFits(stdout);
      expect(stdout).toMatch(/^ +live +share +blocks +resident +component +part(?: +inferred by)?$/m);
      expect(stdout).toMatch(/known by a rule \d+\.\d %, by inference \d+\.\d %, not at all \d+\.\d %/);
      expect(stdout).not.toMatch(/\bNaN\b|undefined|\bnull\b|Infinity/);
    }
    expect(mbf('attribute', LEAK).stdout).toMatch(
      /^ +8\.46 GiB +11\.1 % +49 +8\.46 GiB {2}optimizer_state +master param$/m,
    );
  });

  // Keys take what the columns before them leave.
  it.each(['site', 'layer'])('keeps --by %s within 100 columns', (by) => {
    expectFits(text('attribute', FRAGMENTATION, '--at', 'oom', '--by', by));
  });

  it.each<[number, string, readonly string[]]>([
    [2, 'MBF1001', ['--at', 'noon']],
    [2, 'MBF1002', ['--at', 'seq:999999']],
    [2, '"weights"; expected one of parameter, gradient', ['--component', 'weights']],
    [2, '"colour"; expected one of sub, phase', ['--by', 'colour']],
    [2, 'MBF1003', ['--rules', 'absent.yaml']],
    [2, 'MBF1003', ['--annotate', 'absent.py']],
    [2, 'invalid --share "0"; expected a percentage', ['--share', '0']],
    [2, 'invalid --share "101"; expected a percentage', ['--share', '101']],
    [2, 'invalid --share "half"; expected a percentage', ['--share', 'half']],
    [2, '--limit "-1"', ['--limit', '-1']],
  ])('ends with %i and %s for %j', (status, text, options) => {
    expect(refuse(status, 'attribute', LEAK, ...options)).toContain(text);
  });
});
