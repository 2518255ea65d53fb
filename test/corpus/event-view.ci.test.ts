/** The view `event` restores the trace from lifetimes: its rows are those that the parser read, file by file. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { torchSnapshot } from '../../parsers/torch-snapshot/index.js';
import { readStacks } from '../../src/derive/stacks/read-stacks.js';
import { ingest } from '../../src/ingest/ingest.js';
import { ENUMS, getI64, LAYOUTS, NULL_HIGH } from '../../src/model/columns.js';
import type { Dictionary } from '../../src/model/parser.js';
import { SNAPSHOTS } from '../support/corpus.js';
import { bytesSource } from '../support/decode.js';
import { withLibrary } from '../support/library-sql.js';
import { newStore } from '../support/new-store.js';
import { validSnapshots } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite } from './corpus-suite.js';

const files = validSnapshots();

type Row = readonly (string | number | null)[];
type Trace = { readonly [device: number]: readonly string[] };

const digest = (frames: readonly Row[]): string => createHash('md5').update(JSON.stringify(frames)).digest('hex');

/** Rows of the parser, by device, texts and stacks in full. */
async function parsed(path: string): Promise<Trace> {
  const traces: Record<number, string[]> = {};
  const texts = (dictionary: Dictionary, id: number): string | null => (id < 0 ? null : dictionary.text(id));
  const stacks = new Map<number, string>();
  const stackOf = (dictionary: Dictionary, id: number): string | null => {
    if (id < 0) return null;
    const known = stacks.get(id);
    if (known !== undefined) return known;
    const frames = Array.from(dictionary.stackFrames(id), (frame): Row => {
      const { name, filename, line } = dictionary.frame(frame);
      return [dictionary.text(name), dictionary.text(filename), line];
    });
    stacks.set(id, digest(frames));
    return stacks.get(id)!;
  };
  const nothing = (): void => {};
  const wide = (column: Uint32Array, row: number): number | null =>
    column[row * 2 + 1] === NULL_HIGH && column[row * 2] === 0 ? null : getI64(column, row);
  await torchSnapshot.parse(
    bytesSource(readFileSync(path)),
    {
      ...{ note: nothing, incident: nothing, logRow: nothing, attempt: nothing, profilerMemory: nothing },
      snapshot: async (dictionary) => ({
        ...{ segments: nothing, blocks: nothing, annotations: nothing, hostEvents: nothing, hostSegments: nothing },
        ...{ oom: nothing, eventExtra: nothing, end: nothing },
        events(batch) {
          const of = batch.columns(LAYOUTS.trace_entry);
          for (let row = 0; row < batch.rows; row += 1) {
            const trace = traces[of.device[row]!] ?? [];
            traces[of.device[row]!] = trace;
            expect(of.seq[row]).toBe(trace.length);
            const line: Row = [
              ...[
                ENUMS.trace_action[of.action[row]!]!,
                wide(of.addr, row),
                wide(of.size_bytes, row),
                wide(of.stream, row),
              ],
              ...[wide(of.time_us, row), of.pool[row]! < 0 ? null : of.pool[row]!],
              stackOf(dictionary, of.stack_id[row]!),
              texts(dictionary, of.compile_context_id[row]!),
              texts(dictionary, of.user_metadata_id[row]!),
            ];
            trace.push(JSON.stringify(line));
          }
        },
      }),
    },
    { name: 'x' },
  );
  return traces;
}

async function stored(path: string): Promise<{ readonly traces: Trace; readonly restored: number }> {
  const store = await newStore(join(temporaryDirectory(), 'events.duckdb'));
  try {
    await ingest({ store, paths: [path], now: new Date(0), rowsOnly: true });
    const rows = await store.select(
      withLibrary(`SELECT event.*, context.text AS context, metadata.text AS metadata FROM event
       LEFT JOIN text_value AS context ON context.text_id = compile_context_id
       LEFT JOIN text_value AS metadata ON metadata.text_id = user_metadata_id ORDER BY device, seq`),
    );
    const stacks = new Map<number, string>();
    const ids = [...new Set(rows.map((row) => row['stack_id']).filter((id) => id !== null))].map(Number);
    for (const [id, frames] of await readStacks(store, ids))
      stacks.set(id, digest(frames.map(({ name, filename, line }) => [name, filename, line])));
    const traces: Record<number, string[]> = {};
    const wide = (value: unknown): number | null => (value === null ? null : Number(value));
    for (const row of rows) {
      const trace = traces[Number(row['device'])] ?? [];
      traces[Number(row['device'])] = trace;
      expect(row['seq']).toBe(trace.length);
      const line = [
        ...[row['action'], wide(row['addr']), wide(row['size_bytes']), wide(row['stream']), wide(row['time_us'])],
        ...[row['pool'], row['stack_id'] === null ? null : stacks.get(Number(row['stack_id']))],
        ...[row['context'], row['metadata']],
      ];
      trace.push(JSON.stringify(line));
    }
    const [others] = await store.select('SELECT count(*) AS n FROM trace_entry');
    return { traces, restored: rows.length - Number(others!['n']) };
  } finally {
    await store.close();
  }
}

corpusSuite('entries of the corpus', files, () => {
  let restored = 0;

  it.each(files)('%s', async (name) => {
    const path = join(SNAPSHOTS, name);
    const inStore = await stored(path);
    expect(inStore.traces).toEqual(await parsed(path));
    restored += inStore.restored;
  });

  it('are mostly restored from lifetimes', () => {
    expect(restored).toBeGreaterThan(1000);
  });
});
