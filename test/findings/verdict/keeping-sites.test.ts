/** Sites that keep memory of every step, read from the snapshot alone, and everything that looks like one. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lastOfBursts } from '../../../src/derive/verdict/step-clock.js';
import { keepingSites } from '../../../src/derive/verdict/trace-facts.js';
import { GIB } from '../../../src/model/units.js';
import type { Store } from '../../../src/store/store.js';
import { newStore } from '../../support/new-store.js';
import { OOM_SEQ, stateOf, writeStates } from '../../support/states/hand-made-states.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

let store: Store;
beforeAll(async () => {
  store = await newStore(join(temporaryDirectory(), 'leak.duckdb'), { threads: 1 });
  const ids = [1, 2, 3, 4];
  await store.insertRows(
    'stack',
    ids.map((stack_id) => ({ stack_id, depth: 1, content_key: '', site: `site ${stack_id}` })),
  );
});
afterAll(() => store.close());

type Row = readonly [seq: number, stack: number, gib: number];
const many = (count: number, row: (i: number) => Row): readonly Row[] =>
  Array.from({ length: count }, (_, i) => row(i));
/** Five steps of 100 entries; the failing one begins at 500. */
const SPANS = many(5, (i) => [100 * i, 100 * i + 99, 1]).map(([firstSeq, lastSeq]) => ({
  firstSeq,
  lastSeq,
  whole: true,
}));
const RING = SPANS.slice(0, 2).map((span, i) => ({ ...span, whole: i > 0 }));

it.each<[string, readonly Row[], readonly (readonly [site: string, gib: number, steps: number])[], 'ring'?]>([
  ['about as much of every step', [50, 150, 250, 350, 450].map((seq) => [seq, 1, 1]), [['site 1', 5, 4]]],
  ['one step in four may be missed', [150, 250, 450].map((seq) => [seq, 1, 1]), [['site 1', 3, 3]]],
  ['no more than one', [150, 450].map((seq) => [seq, 1, 1]), []],
  [
    'not one large block next to small ones: a buffer that grows',
    [150, 250, 350, 450].map((seq) => [seq, 1, seq === 350 ? 9 : 1]),
    [],
  ],
  [
    'neither parameters and optimizer states, nor what is in flight',
    [...many(20, (i) => [80 + i, 1, 1]), ...many(20, (i) => [500 + i, 2, 1]), ...many(20, () => [-1, 3, 1])],
    [],
  ],
  ['no late initialisation, of one step', many(8, (i) => [210 + i, 4, 1]), []],
  [
    'in a ring of one whole step next to older blocks of the same site',
    [-1, -1, -1, 150].map((seq) => [seq, 1, 1]),
    [['site 1', 4, 1]],
    'ring',
  ],
  ['in a ring not next to one older block', [-1, 150].map((seq) => [seq, 1, 1]), [], 'ring'],
])('sites that keep: %s', async (_, rows, expected, ring) => {
  const blocks = rows.map(([allocSeq, stack, gib], i) => ({ offset: 100 * GIB * i, size: gib * GIB, allocSeq, stack }));
  await writeStates(store, [{ state: stateOf([{ total: 100 * GIB * rows.length, blocks }]) }]);
  const oom = { snapshot_id: 1, device: 0, seq: OOM_SEQ, starts_empty: ring === undefined };
  const [keeping] = await keepingSites(store, [{ ...oom, spans: ring ? RING : SPANS }]);
  expect(keeping!.map(({ site, bytes, steps }) => [site, bytes / GIB, steps])).toEqual(expected);
});

// The failing request may itself be in the optimizer's step.
it.each([
  [[900, 901, 905, 1900, 1905, 2900, 2905], 3800, [905, 1905, 2905]],
  [[900, 905, 1900, 1905], 1907, [905]],
  [[], 100, []],
])('steps without annotations end where a burst of allocations of the optimizer ends: %j', (seqs, oom, ends) =>
  expect(lastOfBursts(seqs, oom)).toEqual(ends),
);
