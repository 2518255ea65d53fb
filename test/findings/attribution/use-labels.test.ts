/** Labels of a question: by whichever rules, the queries give what the labelled lifetimes add up to. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { labelAt } from '../../../src/attribution/blocks/labels.js';
import { builtInRules, compiledRules } from '../../../src/attribution/built-in-rules.js';
import type { CompiledRules } from '../../../src/attribution/match/compile-rules.js';
import { parseRules } from '../../../src/attribution/match/user-rules.js';
import { attributeDevice } from '../../../src/derive/attribution/attribute-device.js';
import { useLabels } from '../../../src/derive/attribution/use-labels.js';
import { ingest } from '../../../src/ingest/ingest.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { newStore } from '../../support/new-store.js';
import { type Act, recordProgram } from '../../support/recorded-program.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const MIB = 2 ** 20;
const MAIN = ['<module> /home/u/train.py:40'];
const CALL = ['_call_impl /usr/lib/python3.12/site-packages/torch/nn/modules/module.py:1750'];
const build = (line: number) => [`__init__ /home/u/pkg/net.py:${line}`, ...MAIN];
const forward = (line: number) => [`forward /home/u/pkg/net.py:${line}`, ...CALL, ...MAIN];
const PROGRAM: readonly Act[] = [
  { alloc: 'w', bytes: 30 * MIB, stack: build(3) },
  { alloc: 'b', bytes: 4 * MIB, stack: build(4) },
  { alloc: 'x', bytes: 8 * MIB, stack: forward(7) },
  { alloc: 'y', bytes: 2 * MIB, stack: forward(8) },
  { free: 'x' },
  { alloc: 'z', bytes: 6 * MIB, stack: forward(7) },
  { free: 'y' },
];
const rulesOf = (component: string): CompiledRules =>
  compiledRules(
    parseRules(
      `rules: [{id: mine.it, component: ${component}, sub_component: pages, at: {file: pkg/net.py, function: forward}}]`,
      'mine.yaml',
    ),
  );
const DEVICES = [1, 2];

const root = temporaryDirectory();
const file = join(root, 'store.duckdb');
const unlabelled = join(root, 'unlabelled.duckdb');

async function makeStore(path: string, labelled: boolean): Promise<void> {
  const directory = join(root, 'ranks');
  mkdirSync(directory, { recursive: true });
  const store = await newStore(path, { threads: 1 });
  try {
    for (const rank of [0, 1]) writeFileSync(join(directory, `snapshot_${rank}.pickle`), recordProgram(PROGRAM));
    // Of blocks that ingest has seen; below, labels are made of blocks read from the store.
    await ingest({ store, parsers: PARSERS, paths: [directory], now: new Date() });
    if (!labelled) for (const table of ['label', 'labelled_device']) await store.run(`DELETE FROM ${table}`);
    if (!labelled) await store.run('UPDATE block_life SET label = NULL');
  } finally {
    await store.close();
  }
}

beforeAll(async () => {
  await makeStore(file, true);
  await makeStore(unlabelled, false);
});

const hashOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

/** What is live after an entry, from the labelled lifetimes themselves. */
async function expectedAt(store: Store, snapshotId: number, rules: CompiledRules, seq: number) {
  const of = await attributeDevice(store, { snapshotId, device: 0 }, rules);
  const sums = new Map<string, number>();
  // Labels are about when the program frees a block; it is live until that completes.
  const ends = await store.select(
    'SELECT to_seq FROM block_life WHERE snapshot_id = $snapshotId AND device = 0 ORDER BY block',
    { snapshotId },
  );
  for (let row = 0; row < of.lives.count; row += 1) {
    if (of.lives.allocSeq[row]! > seq || Number(ends[row]!['to_seq']) <= seq) continue;
    const { component, sub_component, rules: names } = labelAt(of, row);
    const key = `${component} ${sub_component} ${names.join(' ')}`;
    sums.set(key, (sums.get(key) ?? 0) + of.lives.bytes[row]!);
  }
  return Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function actualAt(store: Store, snapshotId: number, seq: number) {
  const rows = await store.all('attribution.components', { snapshot_id: snapshotId, device: 0, at_seq: seq });
  const entries = rows.map((row) => [`${row.component} ${row.sub_component} ${row.rules}`, row.bytes] as const);
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const RULES: readonly (readonly [string, () => CompiledRules])[] = [
  ['the built-in rules', builtInRules],
  ['rules of a user', () => rulesOf('kv_cache')],
];

describe.each([
  ['a store with labels', () => file],
  ['a store without', () => unlabelled],
])('%s, opened for reading', (_, path) => {
  let store: Store;
  let before: string;
  beforeAll(async () => {
    before = hashOf(path());
    store = await openStore(path(), { mode: 'read', threads: 1 });
  });
  afterAll(async () => {
    await store.close();
    expect(hashOf(path())).toBe(before);
  });

  it.each(RULES)('is answered by %s, at every entry of every device', async (_, rules) => {
    const asked = rules();
    for (const id of DEVICES) await useLabels(store, id, 0, asked);
    for (const id of DEVICES)
      for (let seq = -1; seq < 12; seq += 1)
        expect(await actualAt(store, id, seq)).toEqual(await expectedAt(store, id, asked, seq));
  });

  it('is answered by the rules asked for last', async () => {
    const [cache, workspace] = [rulesOf('kv_cache'), rulesOf('workspace')];
    const last = async (rules: CompiledRules) => {
      await useLabels(store, 1, 0, rules);
      return Object.keys(await actualAt(store, 1, 11));
    };
    expect(await last(cache)).toContain('kv_cache pages mine.it');
    expect(await last(workspace)).toContain('workspace pages mine.it');
    const builtIn = await last(builtInRules());
    expect(builtIn.filter((key) => key.includes('mine.it'))).toEqual([]);
    expect(await last(cache)).not.toEqual(builtIn);
  });

  it.each(RULES)('has a series by %s that is the state at its moments', async (_, rules) => {
    await useLabels(store, 1, 0, rules());
    const rows = await store.all('attribution.series', {
      snapshot_id: 1,
      device: 0,
      firsts: '0,2,,5',
      lasts: '1,4,,9',
    });
    const cells = (nth: number) =>
      Object.fromEntries(rows.filter((row) => row.nth === nth).map((row) => [row.component, row.bytes]));
    const at = async (seq: number) => {
      const sums: Record<string, number> = {};
      for (const row of await store.all('verdict.components_at', { snapshot_id: 1, device: 0, at_seq: seq }))
        sums[row.component!] = row.bytes;
      return sums;
    };
    const totals = await store.all('state.totals', { snapshot_id: 1, device: 0, at_seq: 0 });
    expect(totals[0]!.blocks).toBeGreaterThan(0);
    const active = async (seq: number) => Object.values(await at(seq)).reduce((sum, bytes) => sum + bytes, 0);
    const most = async (candidates: readonly number[]) => {
      let best = candidates[0]!;
      for (const seq of candidates) if ((await active(seq)) > (await active(best))) best = seq;
      return best;
    };
    expect(cells(0)).toEqual(await at(await most([-1, 0, 1])));
    expect(cells(1)).toEqual(await at(await most([2, 3, 4])));
    // Without an entry: what the range before it left.
    expect(cells(2)).toEqual(await at(4));
    expect(cells(3)).toEqual(await at(await most([5, 6, 7, 8, 9])));
  });
});
