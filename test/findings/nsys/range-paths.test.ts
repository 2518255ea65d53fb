/** One walk over all ranges finds what looking at every range for every question finds. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RangeAsk, type RangePath, rangePaths } from '../../../src/derive/nsys/range-paths.js';
import { SEED } from '../../support/level.js';
import { type Range, range, scratchStore } from './stored.js';

const scratch = scratchStore();

/** Outermost first: what began earlier, and of two that began together the one that lasts longer. */
function bruteForce(ranges: readonly Range[], { pid, tid, timeNs }: RangeAsk): RangePath | undefined {
  if (pid === null || tid === null || timeNs === null) return undefined;
  const end = ({ endNs }: Range): number => endNs ?? Number.POSITIVE_INFINITY;
  const open = ranges
    .filter((one) => one.type === 'push_pop' && one.text !== null && one.pid === pid && one.tid === tid)
    .filter((one) => one.startNs <= timeNs && end(one) > timeNs)
    .sort((a, b) => {
      if (a.startNs !== b.startNs) return a.startNs - b.startNs;
      // Of two alike the one that was opened first.
      return end(a) === end(b) ? 0 : end(b) > end(a) ? 1 : -1;
    });
  if (open.length === 0) return undefined;
  const isOfNccl = ({ domain }: Range): boolean =>
    ranges.some((one) => one.type === 'domain' && one.pid === pid && one.domain === domain && /^nccl/i.test(one.text!));
  return { texts: open.map(({ text }) => text!), isNccl: open.some(isOfNccl) };
}

async function expectAll(ranges: readonly Range[], asks: readonly Omit<RangeAsk, 'index'>[]): Promise<void> {
  const numbered = asks.map((ask, index) => ({ ...ask, index }));
  const paths = await rangePaths(scratch.store, await scratch.ranges(ranges), numbered);
  const expected = numbered.flatMap((ask) => {
    const path = bruteForce(ranges, ask);
    return path === undefined ? [] : [[ask.index, path] as const];
  });
  expect([...paths].sort((a, b) => a[0] - b[0])).toEqual(expected);
}

const ask = (timeNs: number, tid = 1, pid = 1): Omit<RangeAsk, 'index'> => ({ pid, tid, timeNs });

describe('paths of ranges', () => {
  it('begin with the start of a range, and end before its end', async () => {
    const source = await scratch.ranges([range('step', 10, 20), range('forward', 10, 15), range('empty', 12, 12)]);
    const asks = [9, 10, 12, 15, 19, 20].map((timeNs, index) => ({ index, pid: 1, tid: 1, timeNs }));
    const paths = await rangePaths(scratch.store, source, asks);
    const texts = asks.map(({ index }) => paths.get(index)?.texts.join(' > '));
    expect(texts).toEqual([undefined, 'step > forward', 'step > forward', 'step', 'step', undefined]);
  });

  it('hold ranges that cross, that never end, and that say the same', async () => {
    const crossing = [range('a', 0, 10), range('b', 5, 15), range('never', 7, null), range('after', 30, 40)];
    const times = [0, 5, 7, 8, 9, 10, 11, 12, 14, 15, 29, 30, 40, 100].map((timeNs) => ask(timeNs));
    await expectAll([...crossing.slice(0, 3), range('same', 8, 12), range('same', 8, 12), crossing[3]!], times);
  });

  it('are of push/pop ranges of the very thread only', async () => {
    const ranges = [
      range('process', 0, 100, { type: 'start_end' }),
      range('mark', 5, null, { type: 'mark' }),
      range('other thread', 0, 100, { tid: 2 }),
      range('other process', 0, 100, { pid: 2 }),
      range('no thread', 0, 100, { tid: null }),
      range('own', 40, 60, { tid: 3 }),
      { ...range('', 0, 100, { tid: 3 }), text: null },
    ];
    const asks = [ask(50, 1), ask(50, 2), ask(50, 1, 2), ask(50, 3), ask(50, 4), ask(50, 9, 9)];
    await expectAll(ranges, [...asks, { pid: null, tid: 1, timeNs: 5 }, { pid: 1, tid: 3, timeNs: null }]);
  });

  it('know the domain of NCCL in each process', async () => {
    const ranges = [
      range('NCCL', -5, null, { type: 'domain', domain: 2 }),
      range('nccl plugin', -4, null, { type: 'domain', domain: 1, pid: 2 }),
      range('TransformerEngine', -4, null, { type: 'domain', domain: 2, pid: 2 }),
      range('ncclAllReduce', 0, 10, { domain: 2 }),
      range('inner', 2, 8, { domain: 0 }),
      range('gemm', 0, 10, { domain: 2, pid: 2 }),
      range('send', 20, 30, { domain: 1, pid: 2 }),
    ];
    await expectAll(ranges, [ask(5), ask(15), ask(5, 1, 2), ask(25, 1, 2)]);
    const paths = await rangePaths(scratch.store, await scratch.ranges(ranges), [{ index: 0, ...ask(5) }]);
    expect(paths.get(0)).toEqual({ texts: ['ncclAllReduce', 'inner'], isNccl: true });
  });

  it('show the number of a text that is not there', async () => {
    const source = await scratch.ranges([range('lost', 0, 10)], new Set(['lost']));
    const paths = await rangePaths(scratch.store, source, [{ index: 3, ...ask(5) }]);
    expect(paths.get(3)?.texts).toEqual(['text 0']);
  });

  it('are none where nothing is asked or nothing was captured', async () => {
    expect((await rangePaths(scratch.store, 999_999, [{ index: 0, ...ask(5) }])).size).toBe(0);
    expect((await rangePaths(scratch.store, 1, [])).size).toBe(0);
  });

  it('are those that looking at every range finds', async () => {
    const time = fc.integer({ min: -20, max: 60 });
    const thread = { pid: fc.integer({ min: 1, max: 3 }), tid: fc.integer({ min: 1, max: 3 }) };
    const some: fc.Arbitrary<Range> = fc
      .record({
        ...thread,
        tid: fc.option(thread.tid, { freq: 12 }),
        type: fc.oneof(
          { weight: 10, arbitrary: fc.constant('push_pop' as const) },
          { weight: 1, arbitrary: fc.constantFrom('start_end' as const, 'mark' as const) },
        ),
        startNs: time,
        length: fc.option(fc.integer({ min: 0, max: 30 }), { freq: 6 }),
        domain: fc.integer({ min: 0, max: 2 }),
        text: fc.constantFrom('a', 'b', 'c', 'd'),
      })
      .map(({ length, ...rest }) => ({ ...rest, endNs: length === null ? null : rest.startNs + length }));
    const name: fc.Arbitrary<Range> = fc
      .record({ pid: thread.pid, domain: fc.integer({ min: 0, max: 2 }), text: fc.constantFrom('NCCL', 'TE') })
      .map((rest) => ({ ...rest, tid: 1, type: 'domain', startNs: -50, endNs: null }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(some, { maxLength: 60 }),
        // A domain of a process has one name.
        fc.uniqueArray(name, { maxLength: 4, selector: ({ pid, domain }) => `${pid} ${domain}` }),
        fc.array(fc.record({ pid: fc.nat(4), tid: fc.nat(4), timeNs: time }), { maxLength: 60 }),
        (ranges, names, asks) => expectAll([...names, ...ranges], asks),
      ),
      { numRuns: 60, seed: SEED },
    );
  });

  it('are found over many batches of rows', async () => {
    const ranges: Range[] = [];
    const asks: Omit<RangeAsk, 'index'>[] = [];
    for (const tid of [7, 3, 5]) {
      for (let step = 0; step < 1200; step += 1) {
        const at = step * 100;
        ranges.push(range(`step ${step % 9}`, at, at + 90, { tid }), range('forward', at + 10, at + 50, { tid }));
        if (step % 7 === 0) asks.push(ask(at + 20, tid), ask(at + 60, tid), ask(at + 95, tid));
      }
    }
    await expectAll(ranges, asks.reverse());
  });
});
