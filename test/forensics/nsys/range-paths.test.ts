/** One walk over all ranges finds what looking at every range for every question finds. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RangeAsk, type RangePath, rangePaths } from '../../../src/forensics/nsys/range-paths.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';

interface Range {
  readonly pid: number | null;
  readonly tid: number | null;
  readonly type: 'push_pop' | 'start_end' | 'mark' | 'domain';
  readonly startNs: number;
  readonly endNs: number | null;
  readonly domain: number | null;
  /** Null: without one. */
  readonly text: string | null;
}

let folder = '';
let store: Store;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mbf-ranges-'));
  store = await openStore(join(folder, 'store.duckdb'), { mode: 'write', threads: 1 });
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

let sources = 0;
/** Each list is a report of its own in the one store, so that reports must not mix. */
async function insert(ranges: readonly Range[], unknownTexts: ReadonlySet<string> = new Set()): Promise<number> {
  sources += 1;
  const source_id = sources;
  const texts = [...new Set(ranges.flatMap(({ text }) => (text === null ? [] : [text])))];
  await store.transaction(async () => {
    await store.insertRows(
      'nsys_text',
      texts.flatMap((text, text_id) => (unknownTexts.has(text) ? [] : [{ source_id, text_id, text }])),
    );
    await store.insertRows(
      'nsys_nvtx',
      ranges.map(({ pid, tid, type, startNs, endNs, domain, text }, seq) => ({
        source_id,
        seq,
        start_ns: startNs,
        end_ns: endNs,
        type,
        pid,
        tid,
        end_tid: null,
        domain,
        range_id: null,
        category: null,
        text_id: text === null ? null : texts.indexOf(text),
      })),
    );
  });
  return source_id;
}

/** Outermost first: what began earlier, and of two that began together the one that lasts longer. */
function bruteForce(ranges: readonly Range[], { pid, tid, timeNs }: RangeAsk): RangePath | undefined {
  if (pid === null || tid === null || timeNs === null) return undefined;
  const end = ({ endNs }: Range): number => endNs ?? Number.POSITIVE_INFINITY;
  const open = ranges
    .map((range, seq) => ({ range, seq }))
    .filter(({ range }) => range.type === 'push_pop' && range.text !== null)
    .filter(({ range }) => range.pid === pid && range.tid === tid && range.startNs <= timeNs && end(range) > timeNs)
    .sort((a, b) => {
      if (a.range.startNs !== b.range.startNs) return a.range.startNs - b.range.startNs;
      return end(a.range) === end(b.range) ? a.seq - b.seq : end(b.range) > end(a.range) ? 1 : -1;
    });
  if (open.length === 0) return undefined;
  const isNccl = open.some(({ range }) =>
    ranges.some(
      (other) =>
        other.type === 'domain' && other.pid === pid && other.domain === range.domain && /^nccl/i.test(other.text!),
    ),
  );
  return { texts: open.map(({ range }) => range.text!), isNccl };
}

async function expectAll(ranges: readonly Range[], asks: readonly Omit<RangeAsk, 'index'>[]): Promise<void> {
  const numbered = asks.map((ask, index) => ({ ...ask, index }));
  const found = await rangePaths(store, await insert(ranges), numbered);
  const expected = numbered.flatMap((ask) => {
    const path = bruteForce(ranges, ask);
    return path === undefined ? [] : [[ask.index, path] as const];
  });
  expect([...found].sort((a, b) => a[0] - b[0])).toEqual(expected);
}

const on = (text: string, startNs: number, endNs: number | null, more: Partial<Range> = {}): Range => ({
  pid: 1,
  tid: 1,
  type: 'push_pop',
  startNs,
  endNs,
  domain: 0,
  text,
  ...more,
});
const ask = (timeNs: number, tid = 1, pid = 1): Omit<RangeAsk, 'index'> => ({ pid, tid, timeNs });

describe('paths of ranges', () => {
  it('begin with the start of a range, and end before its end', async () => {
    const source = await insert([on('step', 10, 20), on('forward', 10, 15), on('empty', 12, 12)]);
    const asks = [9, 10, 12, 15, 19, 20].map((timeNs, index) => ({ index, pid: 1, tid: 1, timeNs }));
    const found = await rangePaths(store, source, asks);
    expect(asks.map(({ index }) => found.get(index)?.texts ?? [])).toEqual([
      [],
      ['step', 'forward'],
      ['step', 'forward'],
      ['step'],
      ['step'],
      [],
    ]);
  });

  it('hold ranges that cross, that never end, and that say the same', async () => {
    const ranges = [
      on('a', 0, 10),
      on('b', 5, 15),
      on('never', 7, null),
      on('same', 8, 12),
      on('same', 8, 12),
      on('after', 30, 40),
    ];
    await expectAll(
      ranges,
      [0, 5, 7, 8, 9, 10, 11, 12, 14, 15, 29, 30, 40, 100].map((timeNs) => ask(timeNs)),
    );
  });

  it('are of push/pop ranges of the very thread only', async () => {
    const ranges = [
      on('process', 0, 100, { type: 'start_end' }),
      on('mark', 5, null, { type: 'mark' }),
      on('other thread', 0, 100, { tid: 2 }),
      on('other process', 0, 100, { pid: 2 }),
      on('no thread', 0, 100, { tid: null }),
      on('own', 40, 60, { tid: 3 }),
      { ...on('', 0, 100, { tid: 3 }), text: null },
    ];
    const asks = [ask(50, 1), ask(50, 2), ask(50, 1, 2), ask(50, 3), ask(50, 4), ask(50, 9, 9)];
    await expectAll(ranges, [...asks, { pid: null, tid: 1, timeNs: 5 }, { pid: 1, tid: 3, timeNs: null }]);
  });

  it('know the domain of NCCL in each process', async () => {
    const ranges = [
      on('NCCL', -5, null, { type: 'domain', domain: 2 }),
      on('nccl plugin', -4, null, { type: 'domain', domain: 1, pid: 2 }),
      on('TransformerEngine', -4, null, { type: 'domain', domain: 2, pid: 2 }),
      on('ncclAllReduce', 0, 10, { domain: 2 }),
      on('inner', 2, 8, { domain: 0 }),
      on('gemm', 0, 10, { domain: 2, pid: 2 }),
      on('send', 20, 30, { domain: 1, pid: 2 }),
    ];
    await expectAll(ranges, [ask(5), ask(15), ask(5, 1, 2), ask(25, 1, 2)]);
    const found = await rangePaths(store, sources, [{ index: 0, ...ask(5) }]);
    expect(found.get(0)).toEqual({ texts: ['ncclAllReduce', 'inner'], isNccl: true });
  });

  it('show the number of a text that is not there', async () => {
    const source = await insert([on('lost', 0, 10)], new Set(['lost']));
    const found = await rangePaths(store, source, [{ index: 3, ...ask(5) }]);
    expect(found.get(3)?.texts).toEqual(['text 0']);
  });

  it('are none where nothing is asked or nothing was captured', async () => {
    expect((await rangePaths(store, 999_999, [{ index: 0, ...ask(5) }])).size).toBe(0);
    expect((await rangePaths(store, sources, [])).size).toBe(0);
  });

  it('are those that looking at every range finds', async () => {
    const time = fc.integer({ min: -20, max: 60 });
    const thread = { pid: fc.integer({ min: 1, max: 3 }), tid: fc.integer({ min: 1, max: 3 }) };
    const range: fc.Arbitrary<Range> = fc
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
        fc.array(range, { maxLength: 60 }),
        // A domain of a process has one name.
        fc.uniqueArray(name, { maxLength: 4, selector: ({ pid, domain }) => `${pid} ${domain}` }),
        fc.array(
          fc.record({ pid: fc.integer({ min: 0, max: 4 }), tid: fc.integer({ min: 0, max: 4 }), timeNs: time }),
          {
            maxLength: 60,
          },
        ),
        (ranges, names, asks) => expectAll([...names, ...ranges], asks),
      ),
      { numRuns: 60 },
    );
  });

  it('are found over many batches of rows', async () => {
    const ranges: Range[] = [];
    const asks: Omit<RangeAsk, 'index'>[] = [];
    for (const tid of [7, 3, 5]) {
      for (let step = 0; step < 1200; step += 1) {
        const at = step * 100;
        ranges.push(on(`step ${step % 9}`, at, at + 90, { tid }), on('forward', at + 10, at + 50, { tid }));
        if (step % 7 === 0) asks.push(ask(at + 20, tid), ask(at + 60, tid), ask(at + 95, tid));
      }
    }
    await expectAll(ranges, asks.reverse());
  });
});
