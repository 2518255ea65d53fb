/**
 * Other pickles, JSON conversions and memory_viz pages of one snapshot through the whole of `ingest`: the same tables,
 * or one error and no row.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PyTuple, type PyValue, pickled } from '../../samples/generate/write/pickle-writer.js';
import { MIB } from '../../src/model/units.js';
import type { Store } from '../../src/store/store.js';
import { entry, segment, snapshot, snapshotPickle, trace } from '../support/small-snapshot.js';
import { type Pick, spellJson } from '../support/spell-json.js';
import { type Bench, changedBytes, expectSound, openBench, seeded } from './harness.js';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const picking = (seed: number): Pick => {
  const random = seeded(seed);
  return (below) => Math.floor(random() * below);
};

const ID = /^(?:snapshot_id|pool|compile_context_id|user_metadata_id|name_id)$/;

/** Tables of one snapshot with ids resolved. Stacks are interned by content for the whole store. */
async function tablesOf(store: Store, file: string): Promise<Record<string, unknown>> {
  const text = (column: string): string => `(SELECT text FROM text_value WHERE text_id = ${column}) AS ${column}`;
  const pool = `(SELECT (pool_id_a, pool_id_b) FROM snapshot_pool AS p
    WHERE p.snapshot_id = t.snapshot_id AND p.pool = t.pool) AS pool_id`;
  const resolved: Readonly<Record<string, readonly string[]>> = {
    ...{ event: [pool, text('compile_context_id'), text('user_metadata_id')], segment: [pool], block: [] },
    ...{ annotation: [text('name_id')], snapshot_setting: [], snapshot_feature: [], snapshot_device: [] },
    ...{ snapshot_action: [], trace_oom: [], event_extra: [] },
  };
  const tables: Record<string, unknown> = {};
  for (const [table, more] of Object.entries(resolved)) {
    const columns = [`COLUMNS(c -> NOT regexp_matches(c, '${ID.source}'))`, ...more];
    tables[table] = await store.select(
      `SELECT ${columns} FROM ${table} AS t WHERE snapshot_id = (SELECT snapshot_id FROM snapshot
       JOIN source USING (source_id) WHERE display_path = '${file}') ORDER BY ALL`,
    );
  }
  const plain = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);
  return JSON.parse(JSON.stringify(tables, plain)) as Record<string, unknown>;
}

const reversed = (value: PyValue): PyValue => {
  if (Array.isArray(value)) return (value as readonly PyValue[]).map(reversed);
  if (value === null || typeof value !== 'object' || value instanceof PyTuple) return value;
  const entries = Object.entries(value).reverse();
  return new Map(entries.map(([key, part]) => [key, reversed(part as PyValue)]));
};

describe('the tables of a snapshot', () => {
  it('are the same from pickles of all protocols, JSON in several spellings, a page, and their gzip', async () => {
    const second = segment({ device: 1, address: 0x7f40_0000_0000, is_expandable: true });
    const value = snapshot({
      segments: [segment(), second],
      device_traces: [
        [...trace(2500), entry('oom', 1, { device_free: 7 * MIB, color: 'red' })],
        [entry('alloc', 5, { addr: 2n ** 60n + 512n, pool_id: [1, 0] as PyValue, user_metadata: 'm\u00fc' })],
        ...[[], trace(1), trace(7)],
      ],
      external_annotations: [{ stage: 'START', name: 'step', device: 0, time_us: 1_700_000_000_000_000 }],
      build: { commit: 'abc' },
    });
    const pickle = pickled(value);
    const page = `<!DOCTYPE html><html><script>add_local_files([{"name": "s", "base64": "${pickle.toString('base64')}"}])</script>`;
    const files: readonly (readonly [name: string, protocol: number | null, bytes: Buffer])[] = [
      ['a.pickle', 4, pickle],
      ['a2.pickle', 2, pickled(value, { protocol: 2 })],
      ['a3.pickle', 3, pickled(value, { protocol: 3 })],
      ['a4.pickle', 4, pickled(value, { memo: false })],
      ['a5.pickle', 5, pickled(value, { protocol: 5 })],
      ['a6.pickle', 4, pickled(reversed(value))],
      ['a7.pickle.gz', 4, gzipSync(pickle)],
      ['b.json', null, Buffer.from(spellJson(value, () => 0))],
      ['c.json', null, Buffer.from(spellJson(value, picking(11)))],
      ['d.json.gz', null, gzipSync(spellJson(value, picking(12)))],
      ['e.html', 4, Buffer.from(page)],
      ['f.html.gz', 4, gzipSync(page)],
    ];
    let expected: Record<string, unknown> | undefined;
    for (const [name, , bytes] of files) {
      const { source } = await bench.take(name, bytes);
      expect([name, source.status, source.error]).toEqual([name, 'ingested', null]);
      const tables = await tablesOf(bench.store, name);
      expect((tables['event'] as unknown[]).length).toBe(2510);
      expected ??= tables;
      expect(tables, name).toEqual(expected);
    }
    await expectSound(bench.store);
    const protocols = await bench.store.select('SELECT DISTINCT handle, protocol FROM snapshot ORDER BY snapshot_id');
    expect(protocols.map((row) => row['protocol'])).toEqual(files.map(([, protocol]) => protocol));
  });

  it('do not move where the file is cut or a byte of it changed', async () => {
    const text = Buffer.from(spellJson(snapshot({ device_traces: [trace(90)] }), () => 0));
    // By then it is known for a snapshot.
    const known = 300;
    const random = seeded(22);
    const cuts = Array.from({ length: 20 }, () =>
      text.subarray(0, known + Math.floor(random() * (text.length - known))),
    );
    for (const source of await bench.takeAll(cuts, 'cut.json')) expect(source.status, source.path).not.toBe('ingested');
    const changed = Array.from({ length: 30 }, () => changedBytes(text, random, 1, known));
    const statuses = new Set((await bench.takeAll(changed, 'changed.json')).map(({ status }) => status));
    expect(statuses.has('failed')).toBe(true);
    await expectSound(bench.store);
  });

  it('of a gzip file with garbage behind it are all there or none', async () => {
    const bytes = Buffer.concat([gzipSync(snapshotPickle()), Buffer.from('garbage')]);
    const { source } = await bench.take('garbage.pickle.gz', bytes);
    expect(['ingested', 'failed']).toContain(source.status);
  });
});

describe('files of others', () => {
  it('of the profiler keep their categories, with one note', async () => {
    const tensors = trace(300).map(({ time_us: _, compile_context: __, ...rest }, i) => ({
      ...rest,
      category: i % 2 ? 'activation' : 'unknown',
    }));
    const value: PyValue = {
      device_traces: [tensors, [{ action: 'alloc', addr: 99, size: 5, stream: 0, frames: [], category: 'unknown' }]],
      segments: [
        {
          device: 0,
          address: 0x7f00_0000_0000,
          total_size: 1024,
          stream: 0,
          blocks: [
            { size: 512, state: 'active_allocated', requested_size: 500, frames: [] },
            { size: 512, state: 'inactive' },
          ],
        },
      ],
    };
    for (const [name, bytes] of [
      ['profile.pickle', pickled(value)],
      ['profile.json', Buffer.from(spellJson(value, () => 0))],
    ] as const) {
      const { source } = await bench.take(name, bytes);
      expect(source.error).toBeNull();
      const conversions = source.notes.filter(({ kind }) => kind === 'profiler_conversion');
      expect(conversions.map(({ count }) => count)).toEqual([300, 1]);
      const tables = await tablesOf(bench.store, name);
      expect((tables['event_extra'] as unknown[]).length).toBe(301);
      expect(tables['segment']).toMatchObject([
        { segment_type: 'unknown', allocated_header_bytes: null, is_expandable: null },
      ]);
    }
  });

  it('of XPU, ROCm and Ascend are read: fewer settings, further actions', async () => {
    const value = snapshot({
      allocator_settings: {
        PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True',
        expandable_segments: true,
        max_split_size: -1,
      },
      device_traces: [
        [],
        [
          { action: 'workspace_snapshot', addr: 4096, size: 2 * MIB, stream: 0 },
          { action: 'segment_alloc', addr: 4096, size: 2 * MIB, stream: 0 },
          { action: 'empty_cache', stream: 0 },
        ],
      ],
    });
    const { source } = await bench.take('npu.json', Buffer.from(spellJson(value, () => 0)));
    expect(source.error).toBeNull();
    const { event } = await tablesOf(bench.store, 'npu.json');
    expect(event).toMatchObject([
      { device: 1, action: 'workspace_snapshot' },
      { device: 1, action: 'segment_alloc' },
      { device: 1, action: 'empty_cache', addr: null },
    ]);
  });
});
