/** Trace entries that are decoded in WebAssembly are those that the general way reads. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../samples/generate/simulate/random.js';
import {
  OP,
  type PyDict,
  PyText,
  PyTuple,
  type PyValue,
  pickle,
  pickled,
  Raw,
} from '../../samples/generate/write/pickle-writer.js';
import { ENUMS } from '../../src/model/columns.js';
import { below, pickOf } from '../fuzz/mutate-bytes.js';
import type { Decoded } from '../support/decode.js';
import { runs } from '../support/level.js';
import { BASE, type Dict, entry, frame, segment, snapshot, trace } from '../support/small-snapshot.js';
import { type ReadingOptions, readPickle } from './both-ways.js';

/** Entries in the last 4 KiB are never decoded that way. */
const PADDING = { padding: 'x'.repeat(5000) };

const ADDRESSES = [0, 1, 255, 256, 65_535, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 39, BASE, 2 ** 47, -1, -(2 ** 33)];
const SIZES = [0, 1, 255, 256, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 39, 2 ** 40, 2 ** 47, 2 ** 53 - 1];
const WIDE = [2n ** 53n, 2n ** 55n, 2n ** 63n, -(2n ** 55n), 2n ** 64n - 1n];
/** A second key of that name: two keys of one text, each an object of its own. */
const SIZE_AGAIN = new PyText('size');
const KEYS = ['action', 'addr', 'size', 'stream', 'time_us', 'frames', 'compile_context', 'user_metadata', 'pool_id'];

interface Knobs {
  readonly seed: number;
  readonly entries: number;
  readonly stacks: number;
  /** Of 1: entries whose values are as torch writes them. */
  readonly usual: number;
  readonly missing: readonly string[];
  readonly isShuffled: boolean;
  readonly protocol: number;
  readonly memo: boolean;
  readonly overwritten: boolean;
  /** Some values are refused. */
  readonly refused: boolean;
}

const KNOBS: fc.Arbitrary<Knobs> = fc.record({
  seed: fc.nat(),
  entries: fc.integer({ min: 1, max: 1500 }),
  stacks: fc.constantFrom(1, 3, 40, 1500),
  usual: fc.constantFrom(1, 0.95, 0.5),
  missing: fc.subarray(KEYS.filter((key) => !['action', 'size'].includes(key))),
  isShuffled: fc.boolean(),
  protocol: fc.constantFrom(4, 4, 4, 5, 2),
  memo: fc.constantFrom(true, true, true, false),
  overwritten: fc.constantFrom(false, false, false, false, true),
  refused: fc.constantFrom(false, false, false, false, true),
});

/** A trace of random entries as torch writes them and as it never would. */
function randomPickle(knobs: Knobs): Buffer {
  const random = createRandom(knobs.seed);
  const pick = <T>(items: readonly T[]): T => pickOf(random, items);
  const known = Array.from({ length: 30 }, (_, i) => frame(`f${i}`, `file${i % 4}.py`, i));
  const stacks = Array.from({ length: knobs.stacks }, () =>
    Array.from({ length: 2 + below(random, 30) }, () => pick(known)),
  );
  const pool = new PyTuple(0, 0);
  const text = (): PyValue => {
    const length = pick([0, 1, 3, 7, 8, 9, 15, 16, 17, 55, 56, 57, 255, 256, 300]);
    return new PyText(String.fromCharCode(97 + below(random, 3)).repeat(length));
  };
  const usually = (): boolean => random() < knobs.usual;
  const frames = (at: number): PyValue => {
    if (random() < 0.6) return [...stacks[at % stacks.length]!];
    return pick<() => PyValue>([
      () => pick(stacks),
      () => [...pick(stacks)],
      () => [],
      () => [pick(known)],
      () => (usually() ? [] : [{ ...pick(known) }]),
      () => (usually() || !knobs.refused ? [pick(known), pick(known)] : new Raw([OP.NONE])),
    ])();
  };
  const values = (at: number): Dict => ({
    action: usually()
      ? pick(ENUMS.trace_action.slice(0, 4))
      : pick([...ENUMS.trace_action, 'unheard', new PyText('alloc')]),
    addr: random() < 0.999 ? pick(ADDRESSES) : pick(WIDE),
    size:
      !knobs.refused || random() < 0.999 ? pick(SIZES.slice(0, usually() ? 9 : 12)) : pick([-1, 2n ** 53n, 2n ** 60n]),
    stream: pick(ADDRESSES),
    time_us: 1_700_000_000_000_000 + at,
    frames: frames(at),
    compile_context: usually() ? new PyText('N/A') : pick([text(), 'N/A', null]),
    user_metadata: usually() ? text() : pick([text(), 'N/A', null]),
    pool_id: usually() ? new PyTuple(0, 0) : pick([pool, new PyTuple(1, below(random, 300)), new PyTuple(255, 255)]),
  });
  const orders = Array.from({ length: 3 }, () => {
    const keys = KEYS.filter((key) => !knobs.missing.includes(key));
    return knobs.isShuffled ? keys.toSorted(() => random() - 0.5) : keys;
  });
  const list = Array.from({ length: knobs.entries }, (_, at): Dict | PyDict => {
    const all = values(at);
    const order = usually() ? orders[0]! : pick(orders);
    const some = Object.fromEntries(order.map((key) => [key, all[key]!]));
    if (knobs.overwritten && at === knobs.entries >> 1) return { ...some, odd: new Raw([OP.NONE, OP.BINPUT, 200]) };
    if (random() < 0.01) return new Map<string | PyText, PyValue>([...Object.entries(some), [SIZE_AGAIN, 7]]);
    return usually() ? some : { ...some, ...pick<Dict>([{ odd: 1 }, { device_free: 5 }, { category: text() }]) };
  });
  const halves = [list.slice(0, list.length >> 1), list.slice(list.length >> 1)];
  const { protocol, memo } = knobs;
  return pickle(snapshot({ device_traces: halves, ...PADDING }), { protocol, memo, frames: random() < 0.5 });
}

/** Returns how many entries were decoded in WebAssembly. */
async function expectSame(bytes: Buffer, options: ReadingOptions = {}): Promise<number> {
  const general = await readPickle(bytes, { isFast: false });
  const fast = await readPickle(bytes, options);
  expect(fast.outcome).toEqual(general.outcome);
  expect(fast.summary).toEqual(general.summary);
  expect(general).toMatchObject({ fastEntries: 0, predictedStacks: 0 });
  return fast.fastEntries;
}

describe('entries decoded in WebAssembly', () => {
  it('are those of the general way, whatever they hold', async () => {
    let fastEntries = 0;
    await fc.assert(
      fc.asyncProperty(KNOBS, fc.boolean(), fc.boolean(), async (knobs, isSized, grows) => {
        fastEntries += await expectSame(randomPickle(knobs), { isSized, grows });
      }),
      { numRuns: runs(60, 3000) },
    );
    expect(fastEntries).toBeGreaterThan(5000);
  });

  it('are all whose shape torch writes, with most stacks predicted where they repeat', async () => {
    const entries = trace(3000).map((one, i) => ({ ...one, frames: [frame('f', 'a.py', i % 3), frame('g')] }));
    const shared = new Map<string, Dict>();
    const share = (one: Dict): Dict => {
      const key = JSON.stringify(one);
      shared.set(key, shared.get(key) ?? one);
      return shared.get(key)!;
    };
    const device_traces = [entries.map((one) => ({ ...one, frames: one.frames.map(share) }))];
    const { fastEntries, predictedStacks } = await readPickle(pickle(snapshot({ device_traces, ...PADDING })));
    // The first ones hold their frames.
    expect(fastEntries).toBeGreaterThan(2990);
    expect(predictedStacks).toBeGreaterThan(2980);
  });

  it('are decoded again in the memory of the file before', async () => {
    const long = pickle(snapshot({ device_traces: [trace(2000)], ...PADDING }));
    const without = pickle(
      snapshot({ device_traces: [trace(300).map((one) => ({ ...one, frames: [] }))], ...PADDING }),
    );
    for (const bytes of [long, without, long.subarray(0, 20_000), without, long]) await expectSame(bytes);
  });

  it('are more than a batch, and than the first tables of memo and stacks hold', async () => {
    const known = Array.from({ length: 70 }, (_, i) => frame(`f${i}`));
    const entries = Array.from({ length: 6000 }, (_, i) =>
      entry('alloc', i, { frames: [known[i % 70]!, known[Math.floor(i / 70) % 70]!, known[3]!] }),
    );
    for (const isSized of [true, false]) {
      const bytes = pickle(snapshot({ device_traces: [entries], ...PADDING }));
      for (const grows of [true, false]) expect(await expectSame(bytes, { isSized, grows })).toBeGreaterThan(5800);
    }
  });

  it('are decoded while the memory of the module grows', async () => {
    const known = Array.from({ length: 700 }, (_, i) => frame(`f${i}`));
    const list = (i: number): PyValue => known.map((_, at) => known[(at + i * (at % 7)) % 700]!);
    const entries = Array.from({ length: 500 }, (_, i) => entry('alloc', i, { frames: list(i) }));
    const device_traces = [[entry('oom', 0), ...entries]];
    const bytes = pickle(snapshot({ device_traces, ...PADDING }));
    expect(await expectSame(bytes, { fills: true })).toBeGreaterThan(450);
  });

  it('have the frames of their list, also after a memo slot was written again', async () => {
    const frames = [frame('one'), frame('two')];
    const entries = trace(600).map((one) => ({ ...one, frames: [...frames] }));
    const withOdd = (odd: Dict): Buffer => {
      const device_traces = [[...entries.slice(0, 300), { ...entries[300], ...odd }, ...entries.slice(301)]];
      return pickled(snapshot({ segments: [segment({ frames: [], blocks: [] })], device_traces, ...PADDING }));
    };
    const list = Buffer.from([OP.EMPTY_LIST, OP.MEMOIZE, OP.MARK, OP.BINGET]);
    const at = withOdd({}).indexOf(list) + list.length;
    const [one, two] = [withOdd({})[at]!, withOdd({})[at + 2]!];
    const bytes = withOdd({ odd: new Raw([OP.BINGET, two, OP.BINPUT, one]) });
    expect(await expectSame(bytes)).toBeGreaterThan(590);
    const { outcome } = await readPickle(bytes);
    expect((outcome as Decoded).stacks).toHaveLength(3);
  });
});
