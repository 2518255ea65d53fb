/**
 * `residual` as a user has it: runs with a snapshot and a configuration, runs without either, and what the sums are.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AttributeResult } from '../../src/model/results/attribute.js';
import type { EstimateResult } from '../../src/model/results/estimate.js';
import type { DeviceResidual, ResidualResult } from '../../src/model/results/residual.js';
import { COMPONENTS } from '../../src/model/vocabulary.js';
import { asker, expectFits, sum } from '../support/ask.js';
import { recordProgram } from '../support/recorded-program.js';
import { samplePath as sample, sampleStore } from '../support/stores.js';

const LEAK = sample('leak');
const GIB = 2 ** 30;

const { cwd, mbf, text, json, refuse, put } = asker();

const residual = (...args: string[]) => json<ResidualResult>('estimate', 'residual', ...args);
const only = ({ devices }: ResidualResult): DeviceResidual => {
  expect(devices).toHaveLength(1);
  return devices[0]!;
};
/** The files of a sample that match, as a run of their own. */
function runOf(name: string, from: string, wanted: RegExp): string {
  mkdirSync(join(cwd, name));
  for (const file of readdirSync(from)) if (wanted.test(file)) copyFileSync(join(from, file), join(cwd, name, file));
  return name;
}

describe('residual', () => {
  it('is a document of this shape', () => {
    const result = residual(LEAK);
    expect(Object.keys(result).sort().join()).toBe(
      'assumptions,devices,left_out,lines,no_estimate,not_modelled,run,schema',
    );
    expect(result).toMatchObject({ schema: 'mbforensics/residual@1', run: 'leak', no_estimate: null });
    expect(result.assumptions.length).toBeGreaterThan(0);
    expect(result.not_modelled.length).toBeGreaterThan(0);
    expect(Object.keys(only(result)).sort().join()).toBe(
      'before_first_step,components,device,estimate_moment,estimated_bytes,handle,measured_bytes,moment,path,phase,rank,seq,stage,unknown_bytes',
    );
    for (const row of only(result).components) {
      expect(Object.keys(row).sort().join()).toBe(
        'component,estimated_bytes,high_bytes,low_bytes,measured_bytes,reading,residual_bytes,surprise_bytes',
      );
      expect(COMPONENTS).toContain(row.component);
      expect(row.residual_bytes).toBe(row.measured_bytes - row.estimated_bytes);
      expect(row.low_bytes).toBeLessThanOrEqual(row.high_bytes);
      const inside = row.measured_bytes >= row.low_bytes && row.measured_bytes <= row.high_bytes;
      if (inside) expect(row.surprise_bytes).toBe(0);
      else if (row.surprise_bytes !== 0)
        expect(row.surprise_bytes).toBe(row.measured_bytes - (row.surprise_bytes > 0 ? row.high_bytes : row.low_bytes));
      if (row.reading !== null) expect(row.surprise_bytes).not.toBe(0);
    }
    const surprises = only(result).components.map((row) => Math.abs(row.surprise_bytes));
    expect(surprises).toEqual([...surprises].sort((a, b) => b - a));
    for (const line of result.lines)
      expect(Object.keys(line).sort().join()).toBe(
        'estimated_bytes,file,high_bytes,line,low_bytes,measured_bytes,metric,rank,reading,residual_bytes,stage,surprise_bytes',
      );
  });

  it.each([
    ['leak', 'peak'],
    ['capacity', 'oom'],
    ['llama3-70b-fragmentation', 'seq:12000'],
  ])('of %s at %s has the measured bytes of attribute and the estimated bytes of estimate', (name, moment) => {
    const device = only(residual(sample(name), '--at', moment));
    const [found] = json<AttributeResult>('attribute', sample(name), '--at', moment).devices;
    expect([device.seq, device.measured_bytes]).toEqual([found!.seq, found!.total_bytes]);
    for (const row of device.components)
      expect(row.measured_bytes, row.component).toBe(
        sum(
          found!.components.filter(({ component }) => component === row.component),
          ({ bytes }) => bytes,
        ),
      );
    expect(sum(device.components, (row) => row.measured_bytes) + device.unknown_bytes).toBe(device.measured_bytes);
    expect(sum(device.components, (row) => row.estimated_bytes)).toBeCloseTo(device.estimated_bytes, 0);
    const estimate = json<EstimateResult>('estimate', '--run', sample(name));
    const stage = estimate.stages[device.stage!]!;
    if (stage.moment === device.estimate_moment && !device.before_first_step)
      expect(device.estimated_bytes).toBeCloseTo(stage.allocated_bytes, -3);
    else expect(device.estimated_bytes).toBeLessThan(stage.allocated_bytes);
  });

  it('finds the memory of a leak and reports it as held', () => {
    const device = only(residual(LEAK));
    expect(device.components[0]).toMatchObject({
      component: 'activation',
      reading: expect.stringMatching(
        /^\d+\.\d\d GiB of it are allocated by lines with blocks that outlive training steps: held/,
      ) as string,
    });
    expect(device.components[0]!.surprise_bytes).toBeGreaterThan(17 * GIB);
    // What does not leak is as estimated.
    for (const name of ['parameter', 'gradient', 'optimizer_state'])
      expect(device.components.find(({ component }) => component === name)).toMatchObject({
        surprise_bytes: 0,
        reading: null,
      });
    expect(device.before_first_step).toBe(false);
  });

  it('does not call a failure before the first step small', () => {
    const device = only(residual(sample('capacity'), '--at', 'oom'));
    expect(device).toMatchObject({ moment: 'oom', phase: 'forward', before_first_step: true, rank: 1 });
    expect(device.components[0]).toMatchObject({
      component: 'activation',
      reading: 'the step failed before its peak',
    });
    // Only master weights exist by then.
    const states = device.components.find(({ component }) => component === 'optimizer_state')!;
    expect(states).toMatchObject({ surprise_bytes: 0 });
    expect(states.estimated_bytes).toBeLessThan(9 * GIB);
  });

  it('compares memory lines with their stages, with ranks and places', () => {
    const { lines } = residual(sample('llama3-70b-fragmentation'));
    expect(new Set(lines.map(({ stage }) => stage))).toEqual(new Set([0, 1, 2, 3]));
    expect(lines).toHaveLength(32);
    const peak = lines.find(({ rank, metric }) => rank === 24 && metric === 'max_allocated')!;
    expect(peak).toMatchObject({ stage: 3, file: expect.stringContaining('h100-dgx-040') as string, line: 150 });
    expect((peak.measured_bytes / GIB).toFixed(2)).toBe('63.37');
    const without = residual(runOf('texts', sample('llama3-70b-fragmentation'), /\.(?:out|yaml|sbatch)$/));
    expect(without.devices).toEqual([]);
    expect(without.lines.map(({ measured_bytes }) => measured_bytes)).toEqual(lines.map((line) => line.measured_bytes));
  });

  /** The run's texts, with the memory lines of one iteration alone. */
  function printedAfter(iteration: number): ResidualResult {
    const run = runOf(`after-${iteration}`, LEAK, /\.(?:out|yaml|sbatch)$/);
    const [log] = readdirSync(join(cwd, run)).filter((file) => file.endsWith('.out'));
    const lines = readFileSync(join(cwd, run, log!), 'utf8').split('\n');
    const kept = lines.filter(
      (line) => !/after \d+ iterations\) memory/.test(line) || line.includes(`after ${iteration} `),
    );
    writeFileSync(join(cwd, run, log!), kept.join('\n'));
    return residual(run);
  }

  it('compares peaks of the first iteration with the step in which the moments are made', () => {
    const { lines } = printedAfter(1);
    expect(lines.map(({ metric, reading }) => [metric, reading?.includes('first iteration') ?? false])).toEqual(
      [0, 1, 2, 3].flatMap(() => [
        ['allocated', false],
        ['max_allocated', true],
      ]),
    );
    const stages = json<EstimateResult>('estimate', '--run', LEAK).stages;
    for (const line of lines)
      if (line.metric === 'max_allocated')
        expect(line.estimated_bytes).toBe(stages[line.stage!]!.first_step_allocated_bytes);
      else expect(line.estimated_bytes).toBe(stages[line.stage!]!.resident_bytes);
  });

  // Megatron-LM prints one memory line, after its first log_interval iterations: by then the moments exist.
  it('does not take the only line of a later iteration for one of the first', () => {
    for (const { reading } of printedAfter(2).lines) expect(reading).toBeNull();
  });

  it('takes rules of its own, and one snapshot by its handle', () => {
    put('mine.yaml', 'rules:\n  - { id: mine.all, component: kv_cache, at: { function: forward* } }\n');
    const rows = only(residual(LEAK, '--rules', 'mine.yaml')).components;
    expect(rows.find(({ component }) => component === 'kv_cache')!.surprise_bytes).toBeGreaterThan(17 * GIB);
    expect(only(residual('leak/0/snapshot#1', '--db', sampleStore('leak'))).handle).toBe('leak/0/snapshot#1');
  });

  it('prints the content of the JSON as text, within 100 columns', () => {
    for (const args of [[LEAK], [sample('capacity'), '--at', 'oom'], [sample('host-oom'), '--at', 'end']]) {
      const { stdout, stderr } = mbf('estimate', 'residual', ...args);
      expect(stderr).toBe('');
      expectFits(stdout);
      expect(stdout).toMatch(/^ +residual +measured +estimated +at least +at most +outside bounds +component$/m);
      expect(stdout).not.toMatch(/\bNaN\b|undefined|\bnull\b|Infinity/);
    }
    const { stdout } = mbf('estimate', 'residual', LEAK);
    expect(stdout).toMatch(
      /^ +\+22\.95 GiB +38\.21 GiB +15\.26 GiB +15\.07 GiB +17\.83 GiB +\+20\.38 GiB +activation$/m,
    );
    expect(stdout).toMatch(
      /^- activation: \d+\.\d\d GiB of it are allocated by lines with blocks that outlive training steps/m,
    );
  });

  // Of many ranks the one that differs most is shown.
  it('keeps memory lines of many ranks within 100 columns', () => {
    expectFits(text('estimate', 'residual', sample('llama3-70b-fragmentation')));
  });

  it('reports what is unknown about a run', () => {
    const alone = runOf('alone', LEAK, /snapshot/);
    expect(mbf('estimate', 'residual', alone).stdout).toMatch(
      /^run alone: no estimate to compare with: the run does not set num_layers/,
    );
    expect(residual(alone)).toMatchObject({
      no_estimate: expect.stringContaining('hidden_size') as string,
      devices: [],
      lines: [],
    });
    const configured = runOf('configured', LEAK, /yaml$/);
    expect(mbf('estimate', 'residual', configured).stdout).toContain('no snapshot of a known stage and no memory line');
  });

  it('refuses moments that are none, and rules that are none', () => {
    expect(refuse(2, 'estimate', 'residual', LEAK, '--at', 'noon')).toContain('MBF1001');
    expect(refuse(2, 'estimate', 'residual', LEAK, '--at', 'seq:999999')).toContain('MBF1002');
    expect(refuse(2, 'estimate', 'residual', 'absent')).toContain('MBF1003');
    expect(refuse(2, 'estimate', 'residual', LEAK, '--rules', 'absent.yaml')).toContain('MBF1003');
    put('bad.yaml', 'rules: []\n');
    expect(refuse(4, 'estimate', 'residual', LEAK, '--rules', 'bad.yaml')).toContain('MBF2601');
  });

  // One device runs out of memory, the others lack that moment: `attribute` answers for the first and names the others.
  it('answers for the devices that have the moment', () => {
    const run = runOf('several', sample('capacity'), /\.(?:out|yaml|gz|sbatch)$/);
    const bytes = 2 ** 21;
    writeFileSync(
      join(cwd, run, 'snapshot_0.pickle'),
      recordProgram([{ alloc: 'w', bytes, stack: ['__init__ /home/u/net.py:3', '<module> /home/u/train.py:4'] }]),
    );
    expect(residual(run, '--at', 'oom').devices.map(({ rank }) => rank)).toEqual([1]);
  });

  // Moments live on the host there, and fp32 masters are twice the remainders that are assumed; the optimizer is
  // sharded.
  it('does not call the optimizer of samples/host-oom unsharded', () => {
    for (const { reading } of only(residual(sample('host-oom'))).components)
      if (reading !== null) expect(reading).not.toContain('distributed optimizer is not in effect');
  });
});
