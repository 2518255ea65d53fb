/** `gate` as a CI job calls it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GateResult, GateUpdateResult } from '../../src/model/results/compare.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { oomLines, type TrainingLog, trainingLog, writeTraining } from '../support/training-log.js';

const SIZES = { world_size: 2, tensor_model_parallel_size: 1, seq_length: 4096, micro_batch_size: 1 };
const PEAKS = [
  { rank: 0, first: 50_000, later: 57_000 },
  { rank: 1, first: 40_000, later: 41_000 },
];
const BASE: TrainingLog = {
  iterations: 30,
  arguments: SIZES,
  peaks: PEAKS,
  stepMs: (i) => (i === 1 ? 9000 : 1000 + (i % 7)),
};
const scaled = (...factors: readonly number[]) =>
  PEAKS.map(({ rank, first, later }, i) => ({ rank, first: factors[i]! * first, later: factors[i]! * later }));

describe('gate', () => {
  const cli = buildCli();
  const cwd = temporaryDirectory();
  const env = { XDG_CACHE_HOME: join(cwd, 'cache') };
  let number = 0;
  const write = (log: TrainingLog = {}): string => {
    number += 1;
    return writeTraining(cwd, `run-${number}`, { ...BASE, ...log });
  };
  const call = (status: number, run: readonly string[], ...more: string[]) =>
    cli.expect(status, ['gate', ...run, '--baseline', 'baseline.json', ...more], { cwd, env });
  const gate = (status: number, log: TrainingLog, ...more: string[]): GateResult =>
    call(status, [write(log)], '--json', ...more).json<GateResult>();
  const failing = ({ checks }: GateResult): string[] =>
    checks.filter((check) => check.gate && check.status === 'regression').map(({ name }) => name);

  beforeAll(() => {
    call(2, [write()]).stderr.includes('--update makes it');
    const made = call(0, [write(), write()], '--update', '--json').json<GateUpdateResult>();
    expect(made).toEqual({ schema: 'mbforensics/gate-update@1', file: 'baseline.json', runs: 2 });
  });

  it('passes what is as before, and fails what is worse', () => {
    expect(gate(0, {})).toMatchObject({ schema: 'mbforensics/gate@1', verdict: 'pass', warnings: [] });
    expect(failing(gate(1, { peaks: scaled(1.05, 1) }))).toContain('peak_allocated');
    // The largest rank is as before.
    expect(failing(gate(1, { peaks: scaled(1, 1.1) }))).toEqual(['peak_allocated:rank 1']);
    expect(failing(gate(1, { stepMs: (i) => (i === 1 ? 9000 : 1100 + (i % 7)) }))).toEqual(['step_time']);
    const died = gate(1, { iterations: 5, target: 30, finished: false, after: oomLines(0) });
    expect(failing(died)).toContain('status');
  });

  it('takes noise for a warning, and for undecided with --strict', () => {
    const slightly = { stepMs: (i: number) => (i === 1 ? 9000 : 1030 + (i % 7)) };
    const { verdict, warnings } = gate(0, slightly);
    expect([verdict, warnings]).toEqual(['pass', ['step_time']]);
    expect(gate(3, slightly, '--strict').verdict).toBe('undecided');
  });

  it('judges by the tolerance of a single metric', () => {
    const grown = { peaks: scaled(1.05, 1.05) };
    expect(gate(0, grown, '--tolerance', 'peak_allocated=8%').verdict).toBe('pass');
    expect(failing(gate(1, grown, '--tolerance', 'peak_allocated=8%,peak_allocated:rank 1=1%'))).toEqual([
      'peak_allocated:rank 1',
    ]);
    const unknown = cli.run(['gate', write(), '--baseline', 'baseline.json', '--tolerance', 'peaks=8%'], { cwd, env });
    expect([unknown.status, unknown.stderr]).toEqual([2, expect.stringContaining('component:NAME')]);
  });

  it('fails for retries of the allocator', () => {
    const retries = (count: number): TrainingLog => {
      const text = trainingLog({ ...BASE }).split('\n');
      const lines = text.filter((line) => line.includes('(after'));
      return {
        peaks: [],
        after: lines.map((line) => `${line} | alloc retries: ${count}`),
      };
    };
    call(0, [write(retries(0))], '--update');
    expect(failing(gate(1, retries(12)))).toEqual(['alloc_retries']);
    expect(gate(0, retries(12), '--tolerance', 'alloc_retries=20').verdict).toBe('pass');
    call(0, [write(), write()], '--update');
  });

  it('does not judge what is not comparable, or holds no figure', () => {
    const longer = { arguments: { ...SIZES, seq_length: 8192 }, peaks: scaled(1.4, 1.4) };
    expect(gate(3, longer).refused).toContain('seq_length 4096 → 8192');
    gate(1, longer, '--allow-change', 'seq_length');
    gate(3, { peaks: [], iterations: 0, finished: false });
  });

  it('adds repetitions to the baseline, and refuses runs that failed', () => {
    const before = readFileSync(join(cwd, 'baseline.json'), 'utf8');
    const died = write({ iterations: 5, target: 30, finished: false, after: oomLines(0) });
    call(2, [died], '--update');
    expect(readFileSync(join(cwd, 'baseline.json'), 'utf8')).toBe(before);
    const more = call(0, [write()], '--update', '--append', '--json').json<GateUpdateResult>();
    expect(more.runs).toBe(3);
    expect(gate(0, {}).golden.runs).toBe(3);
    expect(call(2, [write()], '--append').stderr).toContain('--update --append');
    writeFileSync(join(cwd, 'broken.json'), '{"schema": "mbforensics/golden@1", "runs": [');
    const broken = cli.run(['gate', write(), '--baseline', 'broken.json'], { cwd, env });
    expect([broken.status, broken.stderr]).toEqual([4, expect.stringContaining('MBF2801')]);
  });

  it('writes JUnit, SARIF with a line of the baseline, and Markdown', () => {
    const files = ['--junit', 'gate.xml', '--sarif', 'gate.sarif', '--markdown', 'gate.md'];
    const screen = call(1, [write({ peaks: scaled(1.05, 1.05) })], ...files).stdout;
    expect(screen).toMatch(/^GATE {5}regression/);
    expect(screen.split('\n').length).toBeLessThan(24);
    const read = (name: string): string => readFileSync(join(cwd, name), 'utf8');
    expect(read('gate.xml')).toContain('<testsuites name="mbforensics gate"');
    expect(read('gate.xml')).toMatch(/<testcase name="peak_allocated"[^>]*>\s*<failure type="regression"/);
    expect(read('gate.md')).toMatch(/^## mbforensics: regression/);
    const { results } = JSON.parse(read('gate.sarif')).runs[0];
    expect(results.length).toBeGreaterThan(0);
    for (const { locations } of results) {
      const { artifactLocation, region } = locations[0].physicalLocation;
      expect(artifactLocation.uri).toBe('baseline.json');
      const line = read('baseline.json').split('\n')[region.startLine - 1]!;
      expect(line).toContain('"ranks"');
    }
    const nothing = cli.run(['gate', write(), '--baseline', 'new.json', '--update', '--junit', 'x.xml'], { cwd, env });
    expect([nothing.status, existsSync(join(cwd, 'x.xml'))]).toEqual([2, false]);
  });
});
