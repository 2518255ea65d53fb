/** Answers that a store keeps. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { newStore } from '../support/new-store.js';
import { scratchDirectory } from './scratch.js';

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const store = await newStore(join(scratchDirectory(), 'new.duckdb'));
  await work(store).finally(() => store.close());
}

it('what an earlier answer was computed from is asked again after a change, in the same store', () =>
  withStore(async (store) => {
    const incident = async () => (await store.all('log.incidents', { run_id: 1 })).length;
    const runs = async () => (await store.all('store.runs', { run_id: null })).map(({ incidents }) => incidents);
    const now = new Date(0);
    await store.insertRows('run', [{ run_id: 1, name: 'r', root_path: '/r', created_at: now, touched_at: now }]);
    const file = { path: '/r/a', display_path: 'a', status: 'ingested', file_bytes: 1, parser_version: 1 };
    await store.insertRows('source', [{ source_id: 1, run_id: 1, attempt: 1, ...file, ingested_at: now }]);
    expect([await incident(), await runs()]).toEqual([0, [0]]);
    const place = { line: 1, last_line: 1, byte_offset: 0, grammar: 'g', text: 'x' };
    await store.insertRows('incident', [{ incident_id: 1, source_id: 1, kind: 'cuda_oom', is_oom: true, ...place }]);
    expect(await runs()).toEqual([1]);
    await store
      .transaction(async () => {
        await store.run('DELETE FROM incident');
        expect(await runs()).toEqual([0]);
        throw new Error('undone');
      })
      .catch(() => undefined);
    expect(await runs()).toEqual([1]);
    await store.shadow('incident');
    await store.run('DELETE FROM incident');
    expect(await runs()).toEqual([0]);
  }));
