/** One iteration, told by a log and by metrics: which of them speaks, and what it takes from the other. */
import { describe, expect, it } from 'vitest';
import { describeIterations } from '../../../src/derive/run/iterations.js';
import { megatronValuesOf } from '../../../src/findings/compare/presets/upstream-values-of.js';
import { measureRun } from '../../../src/findings/flows/measure-run.js';
import { type Row, RUN, type TextSource, withTextRuns } from '../../support/text-run.js';

/** Every tenth iteration, with all there is to say of it. */
const LOG: TextSource = {
  path: 'train.log',
  rows: [10, 20, 30].map(
    (i) => `iteration ${i} ${1000 + i} loss=3 skippedIterations=0 globalBatchSize=512 timeUs=${i * 1e6}`,
  ),
};
const EVERY = Array.from({ length: 30 }, (_, i) => i + 1);
/** Every iteration, but the time of every tenth only. */
const EVENTS: TextSource = {
  ...{ path: 'events.out.tfevents.1', format: 'tensorboard', clock: 'utc' },
  rows: EVERY.map((i) => {
    const time = i % 10 === 0 ? 2000 + i : '-';
    return `iteration ${i} ${time} target=null loss=${3 - i / 100} timeUs=${i * 1e6 + 7_200_000_000}`;
  }),
};
const described = (sources: readonly TextSource[]) =>
  withTextRuns([sources], (store) => describeIterations(store, 1, RUN));
const listed = async (sources: readonly TextSource[]) => (await described(sources)).rows;

describe('iterations of a run with metrics', () => {
  it('are those of the metrics where these know more of them, with what only the log tells', async () => {
    const { rows, attempts } = await described([LOG, EVENTS]);
    expect(attempts[0]).toMatchObject({ count: 30, target: 100 });
    expect(rows.map(({ iteration }) => iteration)).toEqual(EVERY);
    expect(rows[8]).toMatchObject({ loss: 2.91, step_ms: null, global_batch_size: null });
    expect(rows[9]).toMatchObject({ loss: 2.9, step_ms: 2010, global_batch_size: 512, skipped_iterations: 0 });
  });

  it('are those of the log where it knows as many', async () => {
    const few = { ...EVENTS, rows: EVENTS.rows!.filter((_, i) => (i + 1) % 10 === 0) };
    const rows = await listed([LOG, few]);
    expect(rows.map(({ iteration, step_ms, file }) => [iteration, step_ms, file])).toEqual(
      [10, 20, 30].map((iteration) => [iteration, 1000 + iteration, 'train.log']),
    );
  });

  it('are gathered from files that hold a curve each, the fullest first', async () => {
    const curve = (path: string, rows: TextSource['rows']): TextSource => ({ path, format: 'scalars', rows: rows! });
    const rows = await listed([
      curve('loss.csv', ['iteration 1 - loss=1', 'iteration 2 - loss=1', 'iteration 3 - loss=1']),
      curve('time.csv', ['iteration 1 500 loss=9', 'iteration 2 500 loss=9']),
    ]);
    expect(rows.map(({ iteration, loss, step_ms }) => [iteration, loss, step_ms])).toEqual([
      [1, 1, 500],
      [2, 1, 500],
      [3, 1, null],
    ]);
  });

  it('stay apart by launch', async () => {
    const second: TextSource = { path: 'slurm-2.out', attempt: 2, rows: ['iteration 1 10', 'iteration 2 10'] };
    const rows = await listed([LOG, second, { ...EVENTS, attempt: 2, rows: EVENTS.rows!.slice(0, 3) }]);
    expect(rows.map(({ attempt, iteration }) => [attempt, iteration])).toEqual([
      [1, 10],
      [1, 20],
      [1, 30],
      [2, 1],
      [2, 2],
      [2, 3],
    ]);
    expect(rows[3]).toMatchObject({ loss: 2.99, step_ms: 10 });
  });

  it("give Megatron-LM's golden values at every step, as upstream takes them", () => {
    const memory = EVERY.flatMap((i) => [
      `memory 0 ${i} allocated ${1000 + i} rank=null`,
      `memory 0 ${i} max_allocated ${2000 + i} rank=null`,
    ]);
    const zeros: Row = { row: 'value', name: 'iteration.num zeros', value: 17, unit: null, iteration: 5 };
    return withTextRuns([[LOG, { ...EVENTS, rows: [...EVENTS.rows!, ...memory, zeros] }]], async (store) => {
      const { metrics } = megatronValuesOf(await measureRun(store, 1, RUN));
      const names = ['iteration-time', 'lm loss', 'mem-allocated-bytes', 'mem-max-allocated-bytes', 'num-zeros'];
      expect([...metrics.keys()].sort()).toEqual(names);
      const loss = metrics.get('lm loss')!;
      expect([loss.start_step, loss.end_step, loss.step_interval, loss.values.size]).toEqual([1, 30, 1, 30]);
      expect(metrics.get('mem-max-allocated-bytes')!.values.get(7)).toBe(2007);
      expect(metrics.get('num-zeros')!.values).toEqual(new Map([[5, 17]]));
    });
  });
});

describe('the pace of a run', () => {
  it('is the same for a query and for the program, and of fewer steps where neighbours are alike', async () => {
    // Four slow steps follow four fast ones: little more than a seventh of such steps is news.
    const times = Array.from({ length: 24 }, (_, i) => 1000 + (i % 8 < 4 ? 0 : 10));
    const rows = [9000, ...times].map((ms, i) => `iteration ${i + 1} ${ms} loss=3`);
    await withTextRuns([[{ path: 'train.log', rows }]], async (store) => {
      const { steps } = await measureRun(store, 1, RUN);
      const [query] = await store.select('SELECT iterations, independent, median_ms FROM steady_steps(1)');
      expect(steps).toMatchObject({ count: 24, median_ms: 1005, independent: expect.closeTo(7.135, 3) });
      expect(query).toMatchObject({ median_ms: 1005, independent: expect.closeTo(steps!.independent!, 9) });
    });
  });
});
