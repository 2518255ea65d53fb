/**
 * The rules of our own comparison, apart from any run: windows, noise, contracts, which differences are significant.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeEach, type Sides } from '../../../src/findings/compare/judge-checks.js';
import { measurementOfValues } from '../../../src/findings/compare/measurement-of-values.js';
import { componentChanges, pairPeaks, siteChanges, stackGroups } from '../../../src/findings/compare/site-changes.js';
import { changedConfig, changedEnv, changedVersions } from '../../../src/findings/measure/changed-values.js';
import { compareContract, parseAllowedChanges, sameLayout } from '../../../src/findings/measure/contract.js';
import { parseTolerances, type Tolerances } from '../../../src/findings/measure/tolerances.js';
import type { MeasuredPeak, Measurement } from '../../../src/model/measurement.js';
import { median } from '../../../src/model/median.js';
import type { CompareCheck } from '../../../src/model/results/compare.js';
import { openWithoutTables } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { runs } from '../../support/level.js';

let rules: Store;
beforeAll(async () => {
  rules = await openWithoutTables();
});
afterAll(() => rules.close());

const NOTHING = await measurementOfValues('run', { kind: 'empty' });
const empty = (changes: Partial<Measurement> = {}): Measurement => ({ ...NOTHING, ...changes });
async function steadySteps(times: readonly (number | null)[]) {
  const lines = times.map((step_ms, i) => ({
    iteration: i + 1,
    step_ms,
    tflops: step_ms === null ? null : 700_000 / step_ms,
  }));
  return (await rules.one('compare.steady_window', { lines: JSON.stringify(lines) })) ?? null;
}

describe('the steady window', () => {
  it('leaves out the first iteration, and those that still warm up', async () => {
    const expected = { from: 4, to: 8, count: 5, warm_up: 3, median_ms: 1002, min_ms: 1000, max_ms: 1004 };
    expect(await steadySteps([9000, 4000, 2000, 1000, 1001, 1002, 1003, 1004])).toMatchObject(expected);
    // All alike: only the first goes.
    expect(await steadySteps([1000, 1000, 1000])).toMatchObject({ from: 2, count: 2, warm_up: 1, spread_ms: 0 });
  });

  it('never leaves out more than two fifths, and nothing in the middle', async () => {
    expect(await steadySteps([9, 9, 9, 9, 9, 9, 9, 9, 1, 1, 1])).toMatchObject({ from: 6, count: 6 });
    const evaluated = [9000, ...Array.from({ length: 20 }, (_, i) => (i === 10 ? 8000 : 1000 + (i % 3)))];
    expect(await steadySteps(evaluated)).toMatchObject({ count: 20, median_ms: 1001, max_ms: 8000 });
    expect((await steadySteps(evaluated))!.spread_ms).toBeLessThan(2);
  });

  it('is none without a second time', async () => {
    for (const times of [[], [1000], [null, null, 1000], [1000, null]]) expect(await steadySteps(times)).toBeNull();
  });

  it('has a spread that majorities cannot hide', async () => {
    const spread = async (...times: number[]) => (await steadySteps([1, ...times]))!.spread_ms;
    expect(await spread(700, 700, 700, 700, 700, 700, 1500, 1500, 1500, 1500, 1500)).toBeGreaterThan(300);
    expect(await spread(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 9000)).toBe(0);
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), await spread(5)]).toEqual([2, 2.5, 0]);
  });
});

describe('noise', () => {
  const memory = (bytes: number): Measurement => ({
    ...empty(),
    ranks: [
      {
        ...{ rank: null, stage: null, first_iteration: 1, last_iteration: 2, alloc_retries: null, precision_bytes: 0 },
        ...{ first_peak_allocated_bytes: bytes, peak_allocated_bytes: bytes, peak_reserved_bytes: null },
        ...{ first_allocated_bytes: null, allocated_bytes: null },
      },
    ],
  });
  const speed = (median_ms: number): Measurement => ({
    ...empty(),
    steps: {
      ...{ from: 2, to: 11, count: 10, warm_up: 1, spread_ms: 0, min_ms: median_ms, max_ms: median_ms },
      ...{ median_ms, median_tflops: 1e4 / median_ms, spread_tflops: 0 },
    },
  });
  type Values = readonly [golden: readonly number[], current: readonly number[]];
  /** Of each comparison the check of that name. */
  async function judged(
    name: 'peak_allocated' | 'step_time' | 'throughput',
    comparisons: readonly Values[],
    tolerances: Tolerances = {},
  ): Promise<CompareCheck[]> {
    const run = name === 'peak_allocated' ? memory : speed;
    const sides = comparisons.map(([golden, current]) => ({ golden: golden.map(run), current: current.map(run) }));
    const checks = await judgeEach(rules, sides, { tolerances, sameLayout: false });
    return checks.map((ofOne) => ofOne.find((check) => check.name === name)!);
  }

  // The least effect is needed, on one side only. A throughput of 100 is against 98, 94.3 and 111.
  it.each([
    ['peak_allocated', [100, 101.8, 102, 102.3, 90], 'pass pass undecided regression improvement'],
    ['step_time', [101, 103, 106, 90], 'pass undecided regression improvement'],
    ['throughput', [102, 106, 90], 'undecided regression improvement'],
  ] as const)('%s of 100, then %j: %s', async (name, current, statuses) => {
    const pairs = current.map((now): Values => [[100], [now]]);
    expect((await judged(name, pairs)).map(({ status }) => status).join(' ')).toBe(statuses);
  });

  // That of a check goes before that of its kind.
  it.each<[Parameters<typeof judged>[0], Tolerances, string, number]>([
    ['step_time', { step_time: 0.1 }, 'pass', 0.1],
    ['step_time', { time: 0.1, step_time: 0.01 }, 'regression', 0.01],
    ['peak_allocated', { step_time: 0.1, component: 0.1 }, 'regression', 0.02],
  ])('%s with tolerances %j: %s', async (name, tolerances, status, tolerance) => {
    expect(await judged(name, [[[100], [106]]], tolerances)).toMatchObject([{ status, tolerance }]);
  });

  it('counts the first allocator retry, and of several only clearly more', async () => {
    const retries = (alloc_retries: number): Measurement => ({
      ...empty(),
      ranks: [{ ...memory(100).ranks[0]!, alloc_retries }],
    });
    const golden = [0, 0, 10, 10, 10];
    const current = [0, 1, 12, 20, 0];
    const sides = golden.map((a, i) => ({ golden: [retries(a)], current: [retries(current[i]!)] }));
    const checks = await judgeEach(rules, sides, { tolerances: {}, sameLayout: false });
    expect(checks.map((ofOne) => ofOne.find(({ name }) => name === 'alloc_retries')!)).toMatchObject([
      { status: 'pass', gate: false, golden: 0, current: 0, unit: '1' },
      { status: 'regression', gate: false, golden: 0, current: 1, noise: 0 },
      { status: 'undecided' },
      { status: 'regression' },
      { status: 'improvement' },
    ]);
  });

  it('decides nothing that lies within it', async () => {
    const golden = [95, 100, 105];
    const [wide, one, two, far, more] = await judged('peak_allocated', [
      [golden, [109]],
      [[100], [110]],
      [[100, 100.01], [110]],
      [golden, [180]],
      [golden, [110, 110, 110, 110]],
    ]);
    expect(wide).toMatchObject({ golden: 100, delta: 9, status: 'undecided' });
    // Standard deviation 5 of three, pooled with the assumed 0.05 of five; of their mean and of one more run.
    expect(wide!.noise).toBeCloseTo(3 * Math.sqrt((5 * 0.05 ** 2 + 2 * 25) / 7) * Math.sqrt(1 / 3 + 1), 9);
    expect(one!.noise).toBeCloseTo(3 * 0.05 * Math.SQRT2, 9);
    // A second golden run makes nothing worse where it agrees.
    expect(two!.noise).toBeLessThan(one!.noise!);
    expect(far!.status).toBe('regression');
    // More runs of the same say more.
    expect(more!.noise).toBeLessThan(wide!.noise!);
  });

  /** Runs of 60 iterations as real ones are: single long steps, and a pace of their own. */
  async function realistic(
    seed: number,
    scale: number,
    { step, run, alike = 0 }: Record<'step' | 'run', number> & { alike?: number },
  ) {
    let state = seed * 2_654_435_761;
    const uniform = (): number => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    const normal = (): number => Math.sqrt(-2 * Math.log(uniform() + 1e-12)) * Math.cos(2 * Math.PI * uniform());
    const pace = 1000 * scale * (1 + run * normal());
    let off = 0;
    const times = Array.from({ length: 60 }, (_, i) => {
      off = alike * off + Math.sqrt(1 - alike * alike) * normal();
      const spike = uniform() < 0.03 ? 1 + 1.5 * uniform() : 1;
      return pace * (1 + step * off) * spike * (i === 0 ? 8 : 1);
    });
    return { ...empty(), steps: await steadySteps(times) };
  }

  const REPEATS = runs(20, 200);
  it('finds 5 % of step time with one golden run, and nothing where there is nothing', async () => {
    const count = async (scale: number, noise: Parameters<typeof realistic>[2], goldens = 1): Promise<number> => {
      const sides: Sides[] = [];
      for (let i = 0; i < REPEATS; i += 1) {
        const golden: Measurement[] = [];
        for (let k = 0; k < goldens; k += 1) golden.push(await realistic(100 * i + k + 1, 1, noise));
        sides.push({ golden, current: [await realistic(100 * i + 99, scale, noise)] });
      }
      const checks = await judgeEach(rules, sides, { tolerances: {}, sameLayout: false });
      return checks.filter((ofOne) => ofOne.some(({ name, status }) => name === 'step_time' && status === 'regression'))
        .length;
    };
    const usual = { step: 0.01, run: 0.004 };
    expect(await count(1.05, usual)).toBeGreaterThanOrEqual(0.9 * REPEATS);
    expect(await count(1, usual)).toBe(0);
    expect(await count(1, { step: 0.02, run: 0.004, alike: 0.6 })).toBe(0);
    expect(await count(1, { step: 0.01, run: 0.01 }, 6)).toBe(0);
    expect(await count(1.1, { step: 0.01, run: 0.01 }, 6)).toBeGreaterThanOrEqual(0.9 * REPEATS);
  });

  it('states the least change beyond noise: larger with one golden run than with six', async () => {
    const sides = {
      golden: [await realistic(1, 1, { step: 0.01, run: 0.004 })],
      current: [await realistic(2, 1, { step: 0.01, run: 0.004 })],
    };
    const [checks] = await judgeEach(rules, [sides], { tolerances: {}, sameLayout: false });
    const { detectable, detectable_repeated } = checks!.find(({ name }) => name === 'step_time')!;
    expect(detectable).toBeGreaterThan(0.035);
    expect(detectable).toBeLessThan(0.045);
    expect(detectable_repeated).toBeLessThan(detectable!);
    const six = { ...sides, golden: Array.from({ length: 6 }, () => sides.golden[0]!) };
    const [repeated] = await judgeEach(rules, [six], { tolerances: {}, sameLayout: false });
    expect(repeated!.find(({ name }) => name === 'step_time')!.detectable_repeated).toBeNull();
  });

  it('calls few of the runs bad that are like the golden ones', async () => {
    let state = 5;
    const uniform = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 31 - 1;
    };
    // A sum of twelve uniform numbers is close to normal, with deviation 2.
    const draw = (): number => 1000 + 2 * Array.from({ length: 12 }, uniform).reduce((a, b) => a + b, 0);
    const wrong = async (sigmas: number, time: number): Promise<number> => {
      const value = (): number => 1000 + sigmas * (draw() - 1000);
      const sides = Array.from(
        { length: 400 },
        (_, i): Values => [Array.from({ length: 1 + (i % 5) }, value), [value()]],
      );
      return (await judged('step_time', sides, { time })).filter(({ status }) => status === 'regression').length;
    };
    // As noisy as assumed, without any tolerance; and three times that, with the tolerance of step times.
    expect(await wrong(1, 0)).toBeLessThanOrEqual(4);
    expect(await wrong(3, 0.03)).toBeLessThanOrEqual(4);
  });
});

describe('endings', () => {
  const ended = (ending: 'completed' | 'failed', kind: 'shape' | 'timeout' | null = null): Measurement => {
    const base = empty();
    const failure =
      kind === null ? null : { kind, rank: 0, stage: null, iteration: 3, text: '', file: 'a.log', line: 1 };
    return { ...base, status: { ...base.status, ending, failure: failure as Measurement['status']['failure'] } };
  };

  it('two runs with the same failure are no regression; with another they are', async () => {
    const status = async (golden: Measurement, current: Measurement) => {
      const sides = [{ golden: [golden], current: [current] }];
      const [checks] = await judgeEach(rules, sides, { tolerances: {}, sameLayout: true });
      return checks!.find(({ name }) => name === 'status')!.status;
    };
    expect(await status(ended('failed', 'shape'), ended('failed', 'shape'))).toBe('info');
    expect(await status(ended('failed', 'timeout'), ended('failed', 'shape'))).toBe('regression');
    expect(await status(ended('completed'), ended('failed', 'shape'))).toBe('regression');
    expect(await status(ended('failed', 'shape'), ended('completed'))).toBe('pass');
  });
});

describe('the contract', () => {
  const of = (config: Record<string, string>, more: Partial<Measurement> = {}): Measurement =>
    empty({ config, ...more });

  it('refuses another model, input, precision, device or layout, unless it is allowed; not another revision', async () => {
    const sizes = { hidden_size: '4096', seq_length: '4096', bf16: 'true', micro_batch_size: '1' };
    const base = of(sizes, { world_size: 8 });
    const against = async (other: Measurement, allowed: readonly string[] = []) =>
      (await compareContract(rules, base, other, allowed))
        .filter(({ blocking }) => blocking)
        .map(({ key, golden, current }) => `${key} ${golden} → ${current}`);
    expect(await against(base)).toEqual([]);
    for (const [key, value] of Object.entries({ hidden_size: '8192', seq_length: '8192', bf16: 'false' }))
      expect((await against({ ...base, config: { ...base.config, [key]: value } })).join()).toContain(key);
    expect(await against({ ...base, world_size: 16 })).toContain('world_size 8 → 16');
    expect(await against({ ...base, gpu: { name: 'B200', total_bytes: null } })).toEqual([]);
    const config = { ...base.config, micro_batch_size: '2' };
    const tuned = { ...base, config, parallel: { ...base.parallel, tp: 4 }, versions: { torch: '2.9' } };
    const laidOut = { ...base, parallel: { ...base.parallel, tp: 2 } };
    expect(await against({ ...base, versions: { torch: '2.9' } })).toEqual([]);
    expect(await against(tuned)).toEqual(['micro_batch_size 1 → 2']);
    expect(await against(tuned, ['micro_batch_size'])).toEqual([]);
    const differing = (await compareContract(rules, laidOut, tuned)).filter(({ blocking }) => blocking);
    expect(differing.map(({ key }) => key)).toEqual(['micro_batch_size', 'tp']);
    const allowed = parseAllowedChanges('layout, --micro-batch-size');
    expect((await compareContract(rules, laidOut, tuned, allowed)).some(({ blocking }) => blocking)).toBe(false);
    expect(parseAllowedChanges('tensor-model-parallel-size')).toEqual(['tp']);
    expect(() => parseAllowedChanges('seq_lenth')).toThrow(/not a known setting/);
    expect(sameLayout(await compareContract(rules, laidOut, tuned))).toBe(false);
  });

  it('takes devices of one kind for the same, though drivers differ by some MiB', async () => {
    const sized = (total_bytes: number) => empty({ gpu: { name: 'H100', total_bytes } });
    const blocking = async (a: Measurement, b: Measurement) =>
      (await compareContract(rules, a, b)).flatMap((entry) => (entry.blocking ? [entry.key] : []));
    expect(await blocking(sized(84_942_979_072), sized(85_031_714_816))).toEqual([]);
    expect(await blocking(sized(84_942_979_072), sized(150_754_820_096))).toEqual(['gpu_total_bytes']);
  });
});

describe('what changed', () => {
  it('puts what bears on memory first, and leaves out what differs between any two runs', () => {
    const a = empty({
      config: { save: '/a', recompute_granularity: 'selective', log_interval: '1', seed: '1', new_key: 'null' },
    });
    const b = empty({ config: { save: '/b', recompute_granularity: 'full', log_interval: '5', seed: '2' } });
    expect(changedConfig(a, b)).toEqual([
      { key: 'recompute_granularity', a: 'selective', b: 'full' },
      { key: 'log_interval', a: '1', b: '5' },
    ]);
    expect(changedConfig(a, empty())).toEqual([]);
  });

  it('knows that a variable nobody captured is not one that was unset', () => {
    const a = empty({ env: { NCCL_GRAPH_REGISTER: '0', SLURM_JOB_ID: '1' }, allocator_conf: '' });
    const b = empty({ env: { SLURM_JOB_ID: '2' }, allocator_conf: 'expandable_segments:True' });
    expect(changedEnv(a, empty())).toEqual([]);
    expect(changedEnv(a, b)).toEqual([
      { key: 'PYTORCH_CUDA_ALLOC_CONF', a: '', b: 'expandable_segments:True' },
      { key: 'NCCL_GRAPH_REGISTER', a: '0', b: null },
    ]);
    const of = (torch: string, run: string) => empty({ versions: { torch }, commits: { run } });
    expect(changedVersions(of('2.8', 'a'), of('2.9', 'b'))).toEqual([{ key: 'torch', a: '2.8', b: '2.9' }]);
  });

  it('reads tolerances, and nothing else', () => {
    expect(parseTolerances(undefined)).toEqual({});
    expect(parseTolerances('memory=1%, time=0.1')).toEqual({ memory: 0.01, time: 0.1 });
    const each = { step_time: 0.05, component: 0.03, 'component:activation': 0.01, alloc_retries: 1.5 };
    expect(parseTolerances('step_time=5%,component=3%,component:activation=1%,alloc_retries=150%')).toEqual(each);
    for (const text of ['', 'memory', 'memory=', 'memory=-1%', 'step=1%', 'memory=1%;time=2%', 'memory=2', 'time=1'])
      expect(() => parseTolerances(text)).toThrow(/tolerance/);
    for (const name of ['step', 'status', 'component:', 'component:activations', 'peak', 'constructor'])
      expect(() => parseTolerances(`${name}=1%`)).toThrow(/one of memory, time, .*step_time.*component:NAME/);
  });
});

describe('peaks', () => {
  const peak = (line: number, bytes: number, rank: number | null = 0): MeasuredPeak => ({
    ...{ handle: 'run/0/snapshot#1', rank, device: 0, moment: 'peak', basis: 'actual', settings: {} },
    ...{ active_bytes: bytes + 100, requested_bytes: null, reserved_bytes: bytes + 200 },
    components: { activation: bytes, parameter: 100 },
    frames: [
      ['forward', '/src/megatron/core/transformer/mlp.py', line],
      ['build', '/src/megatron/core/models/gpt.py', 10],
    ],
    sites: [
      { stack: [0], kind: '', component: 'activation', bytes, count: 2 },
      { stack: [1], kind: '', component: 'parameter', bytes: 60, count: 1 },
    ],
    ...{ rest_bytes: 40, rest_count: 4 },
  });

  it('pair by rank, and add up', () => {
    const [a, b] = [empty({ peaks: [peak(5, 1000, 1), peak(5, 1000)] }), empty({ peaks: [peak(9, 1500)] })];
    const pair = pairPeaks(a, b)!;
    expect(pair.map(({ rank }) => rank)).toEqual([0, 0]);
    expect(pairPeaks(empty({ peaks: [peak(5, 1000, 1)] }), b)).toBeUndefined();
    expect(pairPeaks(empty({ peaks: [peak(5, 1000, null)] }), b)).toBeDefined();
    expect(componentChanges(...pair)).toEqual([
      { component: 'activation', a_bytes: 1000, b_bytes: 1500, delta_bytes: 500 },
      { component: 'parameter', a_bytes: 100, b_bytes: 100, delta_bytes: 0 },
    ]);
    expect(siteChanges(...pair)).toMatchObject([{ delta_bytes: 500, match: 'line_shifted', a_count: 2, b_count: 2 }]);
    for (const side of pair)
      expect(stackGroups(side).reduce((sum, { bytes }) => sum + bytes, 0)).toBe(side.active_bytes);
  });

  it('of code that only moved do not differ', () => {
    expect(siteChanges(peak(5, 1000), peak(50, 1000))).toEqual([]);
  });
});

describe('parts of a peak', () => {
  const PARTS = { activation: 24_000_000_000, parameter: 8_000_000_000 };
  const total = (parts: Readonly<Record<string, number>>): number =>
    Object.values(parts).reduce((sum, one) => sum + one, 0);
  const run = (
    ending: Measurement['status']['ending'],
    last: number | null,
    parts: Readonly<Record<string, number>>,
  ) => {
    const peak: MeasuredPeak = {
      ...{ handle: 'snapshot#1', rank: 0, device: 0, moment: 'peak', basis: 'actual', requested_bytes: null },
      ...{ active_bytes: total(parts), reserved_bytes: 0, components: parts, frames: [], sites: [], settings: {} },
      ...{ rest_bytes: 0, rest_count: 0 },
    };
    const status = { ...empty().status, ending, first_iteration: last === null ? null : 1, last_iteration: last };
    return empty({ status, peaks: [peak] });
  };
  const grown = { ...PARTS, activation: 25_000_000_000, parameter: 7_200_000_000 };
  const larger = { ...PARTS, activation: 30_000_000_000 };

  it.each<[string, Measurement, string, object | null]>([
    ['of a run that completed', run('completed', 2, grown), 'regression', null],
    ['of one that failed after steady steps', run('oom', 9, grown), 'regression', null],
    ['of one that failed early', run('oom', 2, grown), 'skipped', { code: 'ended_early', iteration: 3 }],
    ['of one that failed at once', run('oom', null, grown), 'skipped', { code: 'ended_early', iteration: null }],
    ['of one that failed of something else', run('failed', 2, grown), 'skipped', { code: 'ended_early', iteration: 3 }],
    // The whole peak is more than that of the golden run: so are its parts.
    ['of one that failed early with a larger peak', run('oom', 2, larger), 'regression', null],
    ['of one that failed early and is equal', run('oom', 2, PARTS), 'pass', null],
  ])('%s', async (_, current, status, why) => {
    const golden = run('completed', 6, PARTS);
    const [checks] = await judgeEach(rules, [{ golden: [golden], current: [current] }], {
      tolerances: {},
      sameLayout: true,
    });
    const activation = checks!.find(({ name }) => name === 'component:activation')!;
    expect(activation).toMatchObject({ status });
    if (why !== null) expect(activation.why).toEqual(why);
  });

  it('are judged nevertheless where a criterion of its own names them', async () => {
    const sides = { golden: [run('completed', 6, PARTS)], current: [run('oom', 2, grown)] };
    const partsOf = ({ components }: MeasuredPeak) => ({ 'component:activation': components.activation ?? 0 });
    const [checks] = await judgeEach(rules, [sides], { tolerances: {}, sameLayout: true, partsOf });
    expect(checks!.find(({ name }) => name === 'component:activation')).toMatchObject({ status: 'regression' });
  });
});
