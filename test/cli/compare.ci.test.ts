/** Runs against golden values, by our rules and by the upstream projects'. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CompareResult } from '../../src/model/results/compare.js';
import { asker } from '../support/ask.js';
import { NCCL_TIMEOUT, oomLines, type TrainingLog, writeTraining } from '../support/training-log.js';

const PEAKS = [
  { rank: 0, first: 50_000, later: 57_000 },
  { rank: 1, first: 40_000, later: 45_000 },
];
const SIZES = {
  tensor_model_parallel_size: 1,
  pipeline_model_parallel_size: 2,
  world_size: 2,
  hidden_size: 4096,
  num_layers: 32,
  seq_length: 4096,
};
const BASE: TrainingLog = {
  iterations: 20,
  peaks: PEAKS,
  arguments: SIZES,
  stepMs: (i) => (i === 1 ? 9000 : 1000 + (i % 5)),
};
const scaled = (factor: number, of = [0, 1]) =>
  PEAKS.map(({ rank, first, later }) =>
    of.includes(rank) ? { rank, first: first * factor, later: later * factor } : { rank, first, later },
  );

describe('compare', () => {
  const { cwd, mbf, ends, refuse } = asker();
  const STATUS = { pass: 0, regression: 1, undecided: 3 } as const;
  let number = 0;
  const compare = (log: TrainingLog, verdict: keyof typeof STATUS, ...more: string[]): CompareResult => {
    number += 1;
    const run = writeTraining(cwd, `run-${number}`, { ...BASE, ...log });
    return ends(STATUS[verdict], 'compare', run, '--golden', 'base', '--json=full', ...more).json<CompareResult>();
  };
  const check = ({ checks }: CompareResult, name: string) => checks.find((one) => one.name === name);
  beforeAll(() => {
    writeTraining(cwd, 'base', BASE);
    mbf('golden', 'add', 'base', '--name', 'base');
    mbf('ingest', 'base');
  });

  it('passes what is alike, and what is better', () => {
    const passing = compare({}, 'pass');
    expect(passing).toMatchObject({
      schema: 'mbforensics/compare@1',
      verdict: 'pass',
      preset: 'default',
      refused: null,
    });
    expect(passing.checks.filter(({ gate }) => gate).map(({ name, status }) => `${name} ${status}`)).toEqual([
      'status pass',
      'peak_allocated pass',
      'peak_allocated:stage 0 pass',
      'peak_allocated:stage 1 pass',
      'step_time pass',
    ]);
    const better = compare({ peaks: scaled(0.8), stepMs: () => 900 }, 'pass');
    expect(check(better, 'peak_allocated')).toMatchObject({ status: 'improvement' });
    expect(check(better, 'step_time')).toMatchObject({ status: 'improvement' });
  });

  it('finds growth, whichever stage it is of, and lets the least effect pass', () => {
    const grown = compare({ peaks: scaled(1.06) }, 'regression');
    expect(check(grown, 'peak_allocated')).toMatchObject({
      status: 'regression',
      gate: true,
      unit: 'bytes',
      tolerance: 0.02,
    });
    expect(check(grown, 'peak_allocated')!.relative).toBeCloseTo(0.06, 6);
    // Stage 1 stays below the largest rank: only its own check sees it.
    const hidden = compare({ peaks: scaled(1.1, [1]) }, 'regression');
    expect(check(hidden, 'peak_allocated')).toMatchObject({ status: 'pass' });
    expect(check(hidden, 'peak_allocated:stage 1')).toMatchObject({ status: 'regression' });
    compare({ peaks: scaled(1.015) }, 'pass');
    compare({ peaks: scaled(1.015) }, 'regression', '--tolerance', 'memory=1%');
  });

  it('compares first memory lines with first memory lines', () => {
    const cut = compare({ iterations: 1, peaks: PEAKS }, 'undecided');
    expect(check(cut, 'peak_allocated')).toMatchObject({ status: 'pass', relative: 0 });
    expect(check(cut, 'peak_allocated')!.reason).toContain('first memory line');
  });

  it('distinguishes a slow run from one that a straggler slowed down', () => {
    const slow = { stepMs: (i: number) => (i === 1 ? 9000 : 1080 + (i % 5)) };
    const result = compare(slow, 'regression');
    expect(check(result, 'step_time')).toMatchObject({ status: 'regression', unit: 'ms' });
    const straggled = compare(
      {
        ...slow,
        before: [
          '[2026-02-03 04:05:06] | MnRtt/Rnk: 1000.25ms/0 | MxRtt/Rnk: 1090.50ms/1 | MnPwr/Rnk: 600500W/0 | MxPwr/Rnk: 690500W/1',
        ],
      },
      'undecided',
    );
    expect(check(straggled, 'step_time')).toMatchObject({ status: 'undecided' });
    expect(straggled.summary).toContain('straggler');
    compare({ stepMs: (i) => (i === 1 ? 9000 : 1008 + (i % 5)) }, 'pass');
  });

  it('leaves warm-up and single long iterations out', () => {
    compare({ stepMs: (i) => (i < 5 ? 4000 / i : i === 12 ? 6000 : 1000 + (i % 5)) }, 'pass');
  });

  it('learns from several golden runs how much they vary', () => {
    for (const [i, ms] of [950, 1000, 1050].entries()) {
      const run = writeTraining(cwd, `wide-${i}`, { ...BASE, stepMs: (n) => (n === 1 ? 9000 : ms + (n % 5)) });
      mbf('golden', 'add', run, '--name', 'wide');
    }
    const slow = writeTraining(cwd, 'slow', { ...BASE, stepMs: (n) => (n === 1 ? 9000 : 1080 + (n % 5)) });
    const result = ends(3, 'compare', slow, '--golden', 'wide', '--json=full').json<CompareResult>();
    expect(check(result, 'step_time')).toMatchObject({ status: 'undecided' });
    expect(check(result, 'step_time')!.noise).toBeGreaterThan(80);
  });

  it('puts the status first: a failed run with clean throughput is failed', () => {
    const died = compare({ after: oomLines(0), finished: false }, 'regression');
    expect(died.checks[0]).toMatchObject({ name: 'status', status: 'regression', golden: 'completed' });
    expect(check(died, 'step_time')).toMatchObject({ status: 'pass' });
    expect(check(died, 'peak_allocated')).toMatchObject({ status: 'undecided' });
    // A failed network is not evidence against the code.
    const lost = compare({ after: NCCL_TIMEOUT, finished: false }, 'undecided');
    expect(lost.checks[0]).toMatchObject({ name: 'status', status: 'undecided' });
    compare({ iterations: 7, target: 20, finished: false }, 'undecided');
  });

  it('sees losses that are none', () => {
    const broken = compare({ loss: () => 'nan' }, 'regression');
    expect(check(broken, 'loss')).toMatchObject({ status: 'regression', gate: true });
  });

  it('refuses what cannot be compared, unless forced', () => {
    const largerModel: TrainingLog = { arguments: { ...SIZES, hidden_size: 8192 }, peaks: scaled(1.3) };
    const refused = compare(largerModel, 'undecided');
    expect(refused.refused).toContain('hidden_size 4096 → 8192');
    expect(refused.checks.map(({ name }) => name)).toEqual(['status']);
    expect(refused.contract[0]).toMatchObject({ group: 'model', key: 'hidden_size', blocking: true, same: false });
    const forced = compare(largerModel, 'regression', '--force');
    expect(forced.refused).toBeNull();
    const laidOut: TrainingLog = { arguments: { ...SIZES, pipeline_model_parallel_size: 1 } };
    expect(compare(laidOut, 'undecided').refused).toContain('not comparable: pp');
    const layout = compare(laidOut, 'pass', '--allow-change', 'layout');
    expect(layout.contract[0]).toMatchObject({ group: 'layout', same: false, blocking: false });
    expect(check(layout, 'peak_allocated:stage 0')).toBeUndefined();
    expect(layout.config).toContainEqual({ key: 'pipeline_model_parallel_size', a: '2', b: '1' });
  });

  it('names the setting that changed as a suspect', () => {
    const result = compare({ arguments: { ...SIZES, micro_batch_size: 2 }, peaks: scaled(1.2) }, 'regression');
    expect(result.suspects[0]).toMatchObject({ key: 'micro_batch_size' });
  });

  it('writes its answer for machines that show it', () => {
    writeTraining(cwd, 'grown', { ...BASE, peaks: scaled(1.2) });
    const files = ['--markdown', 'summary.md', '--junit', 'junit.xml', '--sarif', 'compare.sarif'];
    for (let time = 0; time < 2; time += 1) ends(1, 'compare', 'grown', '--golden', 'base', ...files);
    expect(readFileSync(join(cwd, 'summary.md'), 'utf8')).toMatch(/peak\\?_allocated/);
    expect(readFileSync(join(cwd, 'junit.xml'), 'utf8')).toMatch(/<testsuite[^>]* failures="[1-9]/);
    expect(JSON.parse(readFileSync(join(cwd, 'compare.sarif'), 'utf8'))).toMatchObject({ version: '2.1.0' });
    expect(ends(1, 'compare', 'grown', '--golden', 'base', '--markdown', '-').stdout).toMatch(/^#/);
  });

  it('judges by the rules of the upstream projects, whose checks have two sides', () => {
    const mlm = (peak: number): string =>
      JSON.stringify({
        'mem-max-allocated-bytes': { start_step: 1, end_step: 2, step_interval: 1, values: { '1': peak, '2': peak } },
      });
    writeFileSync(join(cwd, 'a.json'), mlm(50e9));
    writeFileSync(join(cwd, 'b.json'), mlm(47e9));
    writeFileSync(join(cwd, 'c.json'), mlm(48e9));
    const judge = (file: string, status: number, preset: string) =>
      ends(status, 'compare', file, '--golden', 'a.json', '--preset', preset, '--json=full').json<CompareResult>();
    expect(judge('b.json', 1, 'mlm').checks[0]).toMatchObject({
      name: 'mem-max-allocated-bytes',
      status: 'improvement',
    });
    judge('c.json', 0, 'mlm');
    // By our own rules less memory is not a failure; there is no second figure.
    judge('b.json', 0, 'default');
    expect(refuse(4, 'compare', 'b.json', '--golden', 'a.json', '--preset', 'bridge')).toContain('MBF2802');
    // A run has the figures both projects look at.
    for (const preset of ['mlm', 'bridge']) mbf('compare', 'base', '--golden', 'base', '--preset', preset);
  });

  it.each([
    [['compare', 'base'], 2, 'MBF1001'],
    [['compare', 'base', '--golden', 'bsae'], 2, 'MBF1009'],
    [['compare', 'base', '--golden', 'base', '--preset', 'nemo'], 2, 'MBF1001'],
    [['compare', 'base', '--golden', 'base', '--tolerance', 'memory=lots'], 2, 'MBF1001'],
    [['compare', 'base', '--golden', 'base', '--repo', '.'], 2, 'MBF1008'],
    [['compare', 'nowhere', '--golden', 'base'], 2, 'MBF1002'],
  ] as const)('%j ends with %i and %s', (args, status, code) => {
    expect(refuse(status, ...args)).toContain(code);
  });
});
