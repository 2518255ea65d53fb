/**
 * Change points, points of a history, and the order of commits, as pure functions. Noise is seeded: a failure can be
 * run again.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../samples/generate/simulate/random.js';
import { changePoints, LEAST_POINTS, type TrendPoint } from '../../../src/findings/history/change-points.js';
import { noiseOf, repeatNoise } from '../../../src/findings/history/noise.js';
import { orderCommits } from '../../../src/findings/history/order-commits.js';
import { levelOf } from '../../../src/findings/history/point-levels.js';
import { describeTrend, type TrendOptions } from '../../../src/findings/history/read-trend.js';
import { endingOf, type RunFigure } from '../../../src/findings/history/run-figures.js';
import { MbfError } from '../../../src/model/errors.js';
import { worded } from '../../../src/report/words/worded.js';
import { SEED } from '../../support/level.js';

/** Box and Muller: the same on every machine. */
function normals(seed: number): { uniform: () => number; normal: () => number } {
  const uniform = createRandom(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

const points = (values: readonly (number | null)[]): TrendPoint[] => values.map((value) => ({ value }));
const atLeast = (value: number): TrendPoint => ({ value, isLowerBound: true });
const indices = (values: readonly (number | null)[], minChange?: number): number[] =>
  changePoints(points(values), { minChange }).changes.map(({ index }) => index);
const series = (length: number, level: (i: number) => number, seed: number): number[] => {
  const { normal } = normals(seed);
  return Array.from({ length }, (_, i) => level(i) + normal());
};

const noise = (length: number, level: number, seed: number): number[] => series(length, () => level, seed);
/** In how many of the seeds from 0 on something holds; as numbers, their sum. */
const count = (seeds: number, holds: (seed: number) => boolean | number): number =>
  Array.from({ length: seeds }, (_, seed) => Number(holds(seed))).reduce((sum, one) => sum + one, 0);

describe('change points in noise', () => {
  it('are none: at most 2 % of 200 series of 10 to 500 points have one, wherever they lie', () => {
    for (const level of [0, 100, -1e6]) {
      const length = (seed: number) => 10 + Math.floor(normals(seed).uniform() * 491);
      // Without a least change: the noise alone decides.
      const alarms = count(200, (seed) => indices(noise(length(seed), level, seed * 7919 + 1), 0).length > 0);
      expect(alarms, `level ${level}`).toBeLessThanOrEqual(4);
    }
  });

  it.each([10, 12, 20, 50])('are few in series of %i points, where the noise itself is hard to tell', (length) => {
    const alarms = count(1000, (seed) => indices(noise(length, 50, seed * 31 + length), 0).length > 0);
    expect(alarms).toBeLessThanOrEqual(25);
  });

  it('are few where the noise is heavy-tailed or remembers the point before', () => {
    const shapes: Readonly<Record<string, (seed: number) => () => number>> = {
      laplace: (seed) => {
        const { uniform } = normals(seed);
        return () => {
          const u = uniform() - 0.5;
          return -Math.sign(u) * Math.log(1 - 2 * Math.abs(u));
        };
      },
      'one in ten is wild': (seed) => {
        const { uniform, normal } = normals(seed);
        return () => (uniform() < 0.1 ? 10 : 1) * normal();
      },
      'half of the point before': (seed) => {
        const { normal } = normals(seed);
        let last = 0;
        return () => {
          last = 0.5 * last + normal();
          return last;
        };
      },
    };
    for (const [name, make] of Object.entries(shapes)) {
      const alarms = count(200, (seed) => {
        const next = make(seed + 1);
        return indices(Array.from({ length: 200 }, () => 100 + next())).length > 0;
      });
      expect(alarms, name).toBeLessThanOrEqual(8);
    }
  });
});

describe('a step', () => {
  it.each('4 4, 4 5, 5 4, 4 8, 8 4, 6 6, 4 60, 60 4, 40 40, 4 400, 250 250'.split(', '))(
    'of six σ between %s points is found within one point, in 95 of 100 series',
    (sizes) => {
      const [before = 0, after = 0] = sizes.split(' ').map(Number);

      let actual = 0;
      let falseOnes = 0;
      for (let seed = 0; seed < 200; seed += 1) {
        const values = series(before + after, (i) => (i < before ? 100 : 106), seed * 104729 + before * 31 + after);
        const at = indices(values);
        if (at.some((index) => Math.abs(index - before) <= 1)) actual += 1;
        falseOnes += at.filter((index) => Math.abs(index - before) > 1).length;
      }
      expect(actual).toBeGreaterThanOrEqual(190);
      expect(falseOnes).toBeLessThanOrEqual(4);
    },
  );

  it('has its size, its share, and how sure it is', () => {
    const values = series(60, (i) => (i < 30 ? 100 : 90), 5);
    const { changes, noise } = changePoints(points(values));
    expect(changes.length).toBe(1);
    const [change] = changes;
    expect(change).toMatchObject({ index: 30, previous: 29, isLowerBound: false });
    expect(change!.before).toBeCloseTo(100, 0);
    expect(change!.delta).toBe(change!.after - change!.before);
    expect(change!.relative).toBe(change!.delta / change!.before);
    expect(noise).toBeGreaterThan(0.7);
    expect(noise).toBeLessThan(1.3);
    // Ten σ between medians of thirty points each: 10 / √(2 · 1.57 / 30).
    expect(change!.z).toBeLessThan(-22);
    expect(change!.z).toBeGreaterThan(-45);
  });

  it('is found next to others', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const at = indices(series(60, (i) => [100, 108, 103][Math.floor(i / 20)]!, seed));
      expect(at.length, `seed ${seed}`).toBe(2);
      expect(Math.abs(at[0]! - 20)).toBeLessThanOrEqual(1);
      expect(Math.abs(at[1]! - 40)).toBeLessThanOrEqual(1);
    }
    expect(indices([55, 55, 55, 60, 60, 60, 65, 65, 65])).toEqual([3, 6]);
    expect(indices(Array.from({ length: 2000 }, (_, i) => 50 + Math.floor(i / 100)))).toEqual(
      Array.from({ length: 19 }, (_, i) => 100 * (i + 1)),
    );
  });

  it('there and back is found from three points on', () => {
    expect(indices([55, 55, 55, 55, 60, 60, 60, 55, 55, 55, 55])).toEqual([4, 7]);
    expect(indices([55, 55, 55, 55, 60, 60, 55, 55, 55, 55])).toEqual([]);
  });

  it('of values without noise is exact, and needs two points on either side', () => {
    expect(indices([55, 55, 55, 60, 60])).toEqual([3]);
    expect(indices([55, 55, 60, 60, 60])).toEqual([2]);
    expect(changePoints(points([55, 55, 55, 60, 60])).changes[0]).toMatchObject({ delta: 5, z: null });
    expect(changePoints(points([55, 55, 55, 55, 60]))).toMatchObject({
      changes: [],
      outliers: [{ index: 4, level: 55 }],
    });
  });

  it('below the least change is not told, and its levels are one', () => {
    const values = [100, 100, 100, 100.5, 100.5, 100.5, 110, 110, 110];
    expect(indices(values)).toEqual([6]);
    expect(changePoints(points(values)).changes[0]!.before).toBe(100.25);
    expect(indices(values, 0.001)).toEqual([3, 6]);
    expect(indices(values, 0.2)).toEqual([]);
  });

  it('of counts may begin at zero', () => {
    const { changes } = changePoints(points([0, 0, 0, 0, 2, 2]));
    expect(changes).toMatchObject([{ index: 4, before: 0, after: 2, relative: null }]);
  });
});

describe('no step', () => {
  it.each([
    ['nothing', []],
    ['one point', [1]],
    ['two points', [1, 2]],
    ['four points', [1, 1, 2, 2]],
    ['no values', [null, Number.NaN, null, Number.POSITIVE_INFINITY, null, null]],
    ['zeros', [0, 0, 0, 0, 0, 0]],
    ['one value', [5, 5, 5, 5, 5, 5, 5]],
    ['one outlier', [5, 5, 5, 50, 5, 5, 5, 5]],
    ['an outlier at the start', [50, 5, 5, 5, 5, 5]],
    ['an outlier at the end', [5, 5, 5, 5, 5, 50]],
    ['two outliers apart', [5, 5, 50, 5, 5, 0.1, 5, 5, 5]],
    ['values in turns', [5, 6, 5, 6, 5, 6, 5, 6, 5, 6]],
  ] as const)('is in %s', (_, values) => {
    expect(indices(values)).toEqual([]);
  });

  it.each([0, 7, 19, 39])('is an outlier at point %i of noise', (at) => {
    let alarms = 0;
    for (let seed = 0; seed < 50; seed += 1) {
      const result = changePoints(points(noise(40, 100, seed + 1).with(at, 160)));
      // The noise next to it has its one in a hundred.
      alarms += result.changes.length;
      for (const { index } of result.changes) expect([at, at + 1]).not.toContain(index);
      expect(result.outliers.map(({ index }) => index)).toContain(at);
    }
    expect(alarms).toBeLessThanOrEqual(2);
  });

  it('is a drift, however long', () => {
    for (const [length, total] of [
      [30, 20],
      [100, 10],
      [500, 60],
      [2000, 400],
    ] as const) {
      let steps = 0;
      let drifts = 0;
      for (let seed = 0; seed < 20; seed += 1) {
        const result = changePoints(points(series(length, (i) => 100 + (total * i) / length, seed)));
        steps += result.changes.length;
        drifts += result.drifts.length;
      }
      expect(steps, `${length} points`).toBeLessThanOrEqual(1);
      expect(drifts).toBeGreaterThanOrEqual(19);
    }
  });

  it('but a step inside a drift is one', () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const result = changePoints(points(series(100, (i) => 100 + 0.2 * i + (i < 50 ? 0 : 10), seed)));
      expect(result.changes.map(({ index }) => index)).toEqual([50]);
      expect(result.drifts.length).toBe(2);
      expect(result.changes[0]!.delta).toBeGreaterThan(7);
      expect(result.changes[0]!.delta).toBeLessThan(13);
    }
  });
});

describe('runs that failed', () => {
  const level = points([60, 60.1, 60, 60.05, 60, 60.1]);

  it('early say nothing', () => {
    expect(changePoints([...level, atLeast(20), atLeast(21), atLeast(3)]).changes).toEqual([]);
    expect(changePoints([atLeast(20), ...level, atLeast(60)]).changes).toEqual([]);
  });

  it('above the level before are a step to at least so much', () => {
    expect(changePoints([...level, atLeast(79), atLeast(79.2), atLeast(78)]).changes).toMatchObject([
      { index: 6, after: 79.2, isLowerBound: true },
    ]);
  });

  it('at a step are not taken for the first at the new level, nor the last at the old one', () => {
    const up = [...points([55, 55, 55, 55]), atLeast(55), atLeast(30), ...points([60, 60, 60])];
    expect(changePoints(up).changes).toMatchObject([{ index: 6, previous: 3 }]);
    const down = [...points([60, 60, 60, 60]), atLeast(30), ...points([55, 55, 55])];
    expect(changePoints(down).changes).toMatchObject([{ index: 5, previous: 3 }]);
    const proof = [...points([55, 55, 55, 55]), atLeast(59), ...points([60, 60, 60])];
    expect(changePoints(proof).changes).toMatchObject([{ index: 4, previous: 3 }]);
  });

  it('move a level only up', () => {
    expect(levelOf([10, 11, 12].map((value) => ({ value, isLowerBound: false })))).toEqual({
      value: 11,
      isLowerBound: false,
    });
    const known = [10, 11, 12].map((value) => ({ value, isLowerBound: false }));
    expect(levelOf([...known, { value: 3, isLowerBound: true }]).value).toBe(11);
    expect(levelOf([...known, { value: 20, isLowerBound: true }, { value: 20, isLowerBound: true }]).value).toBe(12);
    expect(levelOf([{ value: 7, isLowerBound: true }])).toEqual({ value: 7, isLowerBound: true });
  });
});

describe('changePoints', () => {
  it('steps over what was not measured', () => {
    expect(indices([Number.NaN, 55, null, 55, 55, 60, null, 60, 60])).toEqual([5]);
  });

  it('knows more noise than it sees', () => {
    const values = [100, 100.1, 100, 100.1, 103, 103.1, 103, 103.1];
    expect(indices(values)).toEqual([4]);
    expect(changePoints(points(values), { noise: 2 }).changes).toEqual([]);
  });

  it('does not depend on scale or sign, and mirrors with the series', () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const values = series(80, (i) => (i < 30 ? 100 : i < 60 ? 112 : 106), seed);
      const at = indices(values);
      for (const factor of [1e-9, 1024 ** 3, -3]) expect(indices(values.map((value) => value * factor))).toEqual(at);
      expect(at.length).toBe(2);
      expect(indices([...values].reverse(), 0).length).toBe(2);
    }
  });

  it('takes whatever it is given', () => {
    const value = fc.oneof(fc.double(), fc.constant(null), fc.integer(), fc.constantFrom(0, 1, 2));
    const point = fc.record({ value, isLowerBound: fc.boolean() });
    fc.assert(
      fc.property(fc.array(point, { maxLength: 60 }), (given) => {
        const result = changePoints(given);
        const known = given.filter((one) => one.value !== null && Number.isFinite(one.value)).length;
        if (known < LEAST_POINTS) expect(result.changes).toEqual([]);
        let last = 0;
        for (const { index, previous, delta } of result.changes) {
          expect(index).toBeGreaterThan(last);
          expect(previous).toBeLessThan(index);
          expect(delta).not.toBe(0);
          last = index;
        }
        expect(changePoints(given)).toEqual(result);
      }),
      { numRuns: 300, seed: SEED },
    );
  });

  it('comes to the end of ten thousand points', () => {
    for (const [level, changes] of [
      [() => 100, 0],
      [(i: number) => 100 + i / 20, 0],
      [(i: number) => 100 + 20 * Math.floor(i / 500), 19],
    ] as const) {
      expect(changePoints(points(series(10_000, level, 3))).changes).toHaveLength(changes);
    }
  });
});

describe('noise', () => {
  it('is what was put in, steps and outliers aside', () => {
    const values = series(400, (i) => 100 + 50 * Math.floor(i / 100), 2);
    values[17] = 1e6;
    expect(noiseOf(values)).toBeGreaterThan(0.85);
    expect(noiseOf(values)).toBeLessThan(1.15);
    expect(noiseOf([])).toBe(0);
    expect(noiseOf([1, 1, 1, 2, 2, 2])).toBe(0);
  });

  it('of repetitions needs some', () => {
    expect(repeatNoise([[1, 2], [5]])).toBeUndefined();
    const { normal } = normals(4);
    const groups = Array.from({ length: 100 }, (_, i) => [normal() + i, normal() + i, normal() + i]);
    expect(repeatNoise(groups)).toBeGreaterThan(0.8);
    expect(repeatNoise(groups)).toBeLessThan(1.2);
  });
});

const sha = (i: number): string => `${i.toString(16).padStart(2, '0')}${'ab'.repeat(19)}`;

describe('orderCommits', () => {
  // 0 – 1 – 2 ——— 5 – 6, with 3 – 4 from 1 merged in 5, and 7 from 2 that nobody measured.
  const history = [
    { sha: sha(0), parents: [] },
    { sha: sha(1), parents: [sha(0)] },
    { sha: sha(2), parents: [sha(1)] },
    { sha: sha(7), parents: [sha(2)] },
    { sha: sha(3), parents: [sha(1)] },
    { sha: sha(4), parents: [sha(3)] },
    { sha: sha(5), parents: [sha(2), sha(4)] },
    { sha: sha(6), parents: [sha(5)] },
  ];
  const order = orderCommits(history, [sha(1), sha(2), sha(6).slice(0, 8), 'not there']);

  it('finds commits by their beginning', () => {
    expect(order.find(sha(3))).toBe(sha(3));
    expect(order.find(sha(3).slice(0, 7).toUpperCase())).toBe(sha(3));
    expect(order.find('03')).toBeUndefined();
    expect(order.find('ffff')).toBeUndefined();
    expect(
      orderCommits(
        [
          { sha: 'abcd1', parents: [] },
          { sha: 'abcd2', parents: [] },
        ],
        [],
      ).find('abcd'),
    ).toBeUndefined();
  });

  it('counts what lies between on the way, and not other branches', () => {
    expect(order.between(sha(0), sha(1))).toBe(0);
    expect(order.between(sha(1), sha(2))).toBe(0);
    // 3, 4 and 5, not 7.
    expect(order.between(sha(2), sha(6))).toBe(3);
    expect(order.between(sha(6), sha(2))).toBe(0);
  });
});

const figure = (
  run: string,
  commit: string | null,
  value: number | null,
  rest: Partial<RunFigure> = {},
): RunFigure => ({
  run,
  label: null,
  commit,
  ending: 'ok',
  value,
  missing: value === null ? 'nothing printed' : null,
  approximate: false,
  isLowerBound: false,
  source: 'log',
  lastIteration: null,
  ...rest,
});

describe('describeTrend', () => {
  const trend = (runs: readonly RunFigure[], options: Partial<TrendOptions> = {}) =>
    worded(describeTrend(runs, { metric: 'peak_allocated_bytes', ...options }));
  const line = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ sha: sha(i), parents: i === 0 ? [] : [sha(i - 1)] }));

  it('of nothing is empty', () => {
    expect(trend([])).toMatchObject({ by: 'commit', points: [], change_points: [], notes: [], left_out: [] });
  });

  it('takes runs where one has no commit, and commits where all have or there is a repository', () => {
    const runs = [figure('a', sha(1), 1), figure('b', null, 2)];
    expect(trend(runs)).toMatchObject({ by: 'run', points: [{ run: 'a' }, { run: 'b' }], left_out: [] });
    expect(trend(runs, { by: 'commit' }).left_out).toEqual([
      { run: 'b', commit: null, reason: 'ingested without --commit' },
    ]);
    expect(trend(runs, { history: line(3) })).toMatchObject({ by: 'commit', points: [{ run: 'a' }] });
    expect(trend(runs.slice(0, 1)).by).toBe('commit');
  });

  it('puts the runs of a commit into one point, whatever the spelling of its id', () => {
    const runs = [
      figure('a', sha(1).slice(0, 8), 10, { label: 'x' }),
      figure('b', sha(2), 20),
      figure('c', sha(1).toUpperCase(), 14, { label: 'x' }),
      figure('d', sha(1), 11, { label: 'x', approximate: true }),
      figure('e', sha(1), 3, { label: 'x', ending: 'oom', isLowerBound: true }),
    ];
    expect(trend(runs).points).toEqual([
      {
        commit: sha(1),
        run: 'e',
        names: ['a', 'c', 'd', 'e'],
        label: 'x',
        value: 11,
        low: 10,
        high: 14,
        runs: 4,
        ending: 'oom',
        approximate: true,
        is_lower_bound: false,
      },
      expect.objectContaining({ commit: sha(2), value: 20, runs: 1, label: null }),
    ]);
    expect(trend(runs.slice(-1)).points).toMatchObject([{ value: 3, is_lower_bound: true }]);
  });

  it('stands in the order of the history, and counts commits in between', () => {
    const runs = [8, 2, 0, 5, 1, 6, 9, 3].map((i) => figure(`r${i}`, sha(i), i < 5 ? 100 : 120));
    const result = trend([...runs, figure('elsewhere', 'f'.repeat(40), 7)], { history: line(11) });
    expect(result.points.map(({ run }) => run)).toEqual(['r0', 'r1', 'r2', 'r3', 'r5', 'r6', 'r8', 'r9']);
    expect(result.change_points).toMatchObject([
      { index: 4, commit: sha(5), previous_commit: sha(3), between: 1, is_worse: true, delta: 20, relative: 0.2 },
    ]);
    expect(result.left_out).toMatchObject([{ run: 'elsewhere', reason: expect.stringMatching(/not in the history/) }]);
    expect(trend(runs).change_points[0]?.between ?? null).toBeNull();
    const twice = [...runs, figure('again', sha(2), 100)];
    expect(
      trend(twice, { history: line(11), by: 'run' })
        .points.map(({ run }) => run)
        .slice(1, 5),
    ).toEqual(['r1', 'r2', 'again', 'r3']);
    expect(trend(runs, { history: line(11), metric: 'tflops_per_gpu' }).change_points).toMatchObject([
      { is_worse: false },
    ]);
    expect(() => trend(runs, { history: [{ sha: 'e'.repeat(40), parents: [] }] })).toThrow(MbfError);
  });

  it('leaves out runs without a figure, with the reason', () => {
    expect(trend([figure('a', sha(1), null), figure('b', sha(2), 2)]).left_out).toEqual([
      { run: 'a', commit: sha(1), reason: 'nothing printed' },
    ]);
  });

  it('begins and ends where it is asked to', () => {
    const runs = Array.from({ length: 8 }, (_, i) => figure(`r${i}`, sha(2 * i), i));
    const names = (options: Partial<TrendOptions>) => trend(runs, options).points.map(({ run }) => run);
    expect(names({ from: sha(4).slice(0, 8), to: sha(8) })).toEqual(['r2', 'r3', 'r4']);
    expect(names({ from: 'r6' })).toEqual(['r6', 'r7']);
    // A commit without a run has a place in a history.
    expect(names({ from: sha(5), to: sha(9), history: line(20) })).toEqual(['r3', 'r4']);
    expect(names({ from: sha(17), history: line(20) })).toEqual([]);
    expect(() => names({ from: sha(5) })).toThrow(/--from/);
    expect(() => names({ from: sha(8), to: sha(4) })).toThrow(/comes after/);
  });

  it('takes the spread of repeated runs for noise', () => {
    const values = [100, 101, 102, 103].flatMap((value, i) => [value - 4, value + 4].map((v) => [i, v] as const));
    const later = [4, 5, 6, 7].flatMap((i) => [104, 112].map((v) => [i, v] as const));
    const runs = [...values, ...later].map(([i, value], n) => figure(`r${n}`, sha(i), value));
    expect(trend(runs).noise).toBeGreaterThan(4);
    expect(trend(runs).change_points).toEqual([]);
  });

  it('reports what makes figures hard to compare', () => {
    const runs = [
      figure('a', null, 1, { ending: 'oom', isLowerBound: true }),
      figure('b', null, 1, { approximate: true, source: 'snapshot' }),
      figure('c', null, 1, { isLowerBound: true, source: 'snapshot' }),
    ];
    const notes = trend(runs).notes.join('\n');
    for (const part of [/fewer than 5 points/, /1 run failed/, /peak is approximate/, /state at a dump/, /snapshots/])
      expect(notes).toMatch(part);
    const losses = [figure('a', null, 1, { lastIteration: 10 }), figure('b', null, 1, { lastIteration: 50 })];
    expect(trend(losses, { metric: 'loss' }).notes.join()).toContain('10 to 50');
  });
});

describe('endingOf', () => {
  const run = { last_attempt: 2, finished: false, oom_snapshots: 0 };
  const failure = {
    run_id: 1,
    attempt: 2,
    kind: 'cuda_oom',
    is_oom: true,
    grammar: 'torch',
    exception: null,
    text: 'CUDA out of memory',
    survived: false,
    count: 1,
  };
  const broken = { ...failure, kind: 'connection_lost', is_oom: false, text: 'Broken pipe' };

  it('is that of the last launch', () => {
    expect(endingOf(run, [])).toBe('ok');
    expect(endingOf(run, [broken, failure])).toBe('oom');
    expect(endingOf(run, [broken])).toBe('failed');
    expect(endingOf(run, [{ ...failure, attempt: 1 }])).toBe('ok');
    expect(endingOf(run, [{ ...failure, kind: 'negative_text', is_oom: false }])).toBe('ok');
  });

  it('is good where a line says so, and connections broke afterwards', () => {
    expect(endingOf({ ...run, finished: true }, [broken])).toBe('ok');
    expect(endingOf({ ...run, finished: true }, [failure])).toBe('oom');
    expect(endingOf({ ...run, finished: true }, [{ ...failure, survived: true }])).toBe('ok');
  });

  it('is told by a dump where no text tells', () => {
    expect(endingOf({ ...run, oom_snapshots: 1 }, [])).toBe('oom');
    expect(endingOf({ ...run, oom_snapshots: 1, finished: true }, [])).toBe('ok');
  });
});
