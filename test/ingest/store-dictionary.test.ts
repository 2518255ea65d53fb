/** Stacks of the whole store have one id each, whatever file, run or process they came from. */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { scratchDirectory } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { newStore } from '../support/new-store.js';
import { BASE, type SmallEntry, smallSnapshot } from '../support/small-snapshot.js';

const DEEP = ['a.py:1', 'b.py:2', 'c.py:3'];
const SHORT = ['a.py:1', 'b.py:2'];
const TURNED = ['b.py:2', 'a.py:1'];
const SECOND_STACK = ['z.py:9'];

let root = '';
let db = '';

/** `spoilt`: all of its rows decode, and then its top level turns out to be wrong. */
function put(path: string, stacks: readonly (readonly string[])[], spoilt = false): string {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  const entries = stacks.map((stack, n): SmallEntry => {
    const extra = { compile_context: `c${n}` };
    return { action: 'alloc', addr: BASE + n * 512, size: 512, stack, extra };
  });
  const bytes = smallSnapshot({ segments: [], entries });
  writeFileSync(full, spoilt ? Buffer.from(bytes.toString('latin1').replace('segments', 'segmentz'), 'latin1') : bytes);
  return full;
}

async function open<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = existsSync(db) ? await openStore(db, { mode: 'write' }) : await newStore(db);
  return work(store).finally(() => store.close());
}

const read = (store: Store, ...paths: string[]) =>
  ingest({ rowsOnly: true, store, parsers: PARSERS, paths: paths.map((path) => join(root, path)), now: new Date() });

/** Stack id by content, resolved through the tables; throws if two ids have one content. */
async function stacks(store: Store): Promise<Map<string, number>> {
  const rows = await store.select(
    `SELECT stack_id, depth, coalesce(string_agg(filename || ':' || line, ' ' ORDER BY pos), '') AS text, count(frame_id) AS frames
     FROM stack LEFT JOIN stack_frame USING (stack_id) LEFT JOIN frame USING (frame_id) GROUP BY ALL`,
  );
  const places = new Map<string, number>();
  for (const row of rows) {
    expect(Number(row['frames'])).toBe(Number(row['depth']));
    expect(places.has(String(row['text']))).toBe(false);
    places.set(String(row['text']), Number(row['stack_id']));
  }
  return places;
}

/** What the events of a source point at, as text, by entry. */
async function eventStacks(store: Store, path: string): Promise<string[]> {
  const byId = new Map([...(await stacks(store))].map(([text, id]) => [id, text]));
  const rows = await store.select(
    `SELECT stack_id FROM event JOIN snapshot USING (snapshot_id) JOIN source USING (source_id)
     WHERE display_path = $path ORDER BY seq`,
    { path },
  );
  return rows.map((row) => byId.get(Number(row['stack_id']))!);
}

const text = (stack: readonly string[]): string => stack.join(' ');

/** Ids count from 0 without gaps, in every dimension. */
async function expectDense(store: Store): Promise<void> {
  for (const [table, column] of [
    ['stack', 'stack_id'],
    ['frame', 'frame_id'],
    ['text_value', 'text_id'],
  ] as const) {
    const [row] = await store.select(
      `SELECT count(*) AS n, count(DISTINCT ${column}) AS ids, coalesce(max(${column}) + 1, 0) AS next FROM ${table}`,
    );
    expect([row!['ids'], row!['next']], table).toEqual([row!['n'], row!['n']]);
  }
}

beforeEach(() => {
  root = realpathSync(scratchDirectory());
  db = join(root, 'store.duckdb');
});

describe('equal stacks', () => {
  it('of two files have one id, different ones have two', async () => {
    put('run/snapshot_0.pickle', [DEEP, SHORT, DEEP, []]);
    put('run/snapshot_1.pickle', [TURNED, DEEP, SECOND_STACK, SHORT]);
    await open(async (store) => {
      await read(store, 'run');
      expect(await eventStacks(store, 'snapshot_0.pickle')).toEqual([DEEP, SHORT, DEEP, []].map(text));
      expect(await eventStacks(store, 'snapshot_1.pickle')).toEqual([TURNED, DEEP, SECOND_STACK, SHORT].map(text));
      expect([...(await stacks(store)).keys()].sort()).toEqual(
        ['', ...[DEEP, SHORT, TURNED, SECOND_STACK].map(text)].sort(),
      );
      await expectDense(store);
    });
  });

  it('are given out again after a file that failed had used the ids', async () => {
    put('run/snapshot_0.pickle', [DEEP]);
    put('run/snapshot_1.pickle', [SECOND_STACK, TURNED], true);
    put('run/snapshot_2.pickle', [SHORT, DEEP]);
    await open(async (store) => {
      const result = await read(store, 'run');
      expect(result.sources.map(({ status }) => status)).toEqual(['ingested', 'failed', 'ingested']);
      expect(result.sources[1]!.error!.code).toBe('MBF2106');
      const stored = await stacks(store);
      expect(stored.has(text(SECOND_STACK))).toBe(false);
      expect(await eventStacks(store, 'snapshot_0.pickle')).toEqual([text(DEEP)]);
      expect(await eventStacks(store, 'snapshot_2.pickle')).toEqual([text(SHORT), text(DEEP)]);
      const contexts = await store.select(
        `SELECT display_path, seq, text FROM event JOIN snapshot USING (snapshot_id) JOIN source USING (source_id)
         JOIN text_value ON text_id = compile_context_id ORDER BY display_path, seq`,
      );
      expect(contexts.map((row) => row['text'])).toEqual(['c0', 'c0', 'c1']);
      await expectDense(store);
    });
  });

  it('stay when the file that brought them is replaced', async () => {
    put('run/snapshot_0.pickle', [DEEP, SECOND_STACK]);
    await open(async (store) => {
      await read(store, 'run');
      const before = await stacks(store);
      put('run/snapshot_0.pickle', [SHORT, DEEP, SHORT]);
      await read(store, 'run');
      const after = await stacks(store);
      for (const [content, id] of before) expect(after.get(content)).toBe(id);
      expect(await eventStacks(store, 'snapshot_0.pickle')).toEqual([SHORT, DEEP, SHORT].map(text));
      await expectDense(store);
    });
  });

  describe('in another process', () => {
    const cli = buildCli();

    it('have the ids they had', async () => {
      const first = put('one/snapshot_0.pickle', [DEEP, SHORT]);
      const second = put('two/snapshot_0.pickle', [SECOND_STACK, SHORT, DEEP]);
      cli.expect(0, ['ingest', first, '--db', db]);
      const keys = async () =>
        open(async (store) => ({
          stacks: await stacks(store),
          keys: await store.select('SELECT stack_id, content_key FROM stack ORDER BY stack_id'),
        }));
      const before = await keys();
      cli.expect(0, ['ingest', second, '--db', db]);
      const after = await keys();
      expect(after.keys.slice(0, before.keys.length)).toEqual(before.keys);
      for (const [content, id] of before.stacks) expect(after.stacks.get(content)).toBe(id);
      expect(after.stacks.size).toBe(before.stacks.size + 1);
      await open(expectDense);
    });

    it('have the keys they have in another store', async () => {
      const file = put('one/snapshot_0.pickle', [DEEP, SHORT, SECOND_STACK]);
      const keysOf = async (name: string): Promise<unknown> => {
        const copy = join(root, name);
        cli.expect(0, ['ingest', file, '--db', copy]);
        const sql = 'SELECT depth, content_key FROM stack ORDER BY ALL';
        return cli.expect(0, ['sql', sql, '--format', 'csv', '--db', copy]).stdout;
      };
      expect(await keysOf('x.duckdb')).toBe(await keysOf('y.duckdb'));
    });
  });
});
