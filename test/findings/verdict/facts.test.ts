/** What is read out of a message, and which message is that of a traced OOM. */
import { describe, expect, it } from 'vitest';
import { incidentsInText } from '../../../parsers/log/index.js';
import type { OomFacts } from '../../../src/derive/verdict/facts.js';
import { judgeTexts } from '../../../src/findings/verdict/judge-texts.js';
import { insertLines } from '../../../src/ingest/write/insert-lines.js';
import { GIB, MIB } from '../../../src/model/units.js';
import { judging } from './judging.js';

const { scratch } = judging();

const TEXT =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 7.00 MiB is ' +
  'free. Process 99 has 8.00 GiB memory in use. Including non-PyTorch memory, this process has 71.00 GiB memory in use. Of the allocated ' +
  'memory 70.00 GiB is allocated by PyTorch, with 2.00 GiB allocated in private pools (e.g., CUDA Graphs), and 512.00 MiB is reserved by ' +
  'PyTorch but unallocated.';

async function factsOf(texts: readonly string[], capacityBytes?: number): Promise<OomFacts[]> {
  const rows = texts.map((text) => incidentsInText(text)[0]!);
  await insertLines(scratch(), rows, 'train.log');
  return (await judgeTexts(scratch(), rows, 'train.log', capacityBytes)).map(({ failure }) => failure.facts);
}

async function leastRequests(): Promise<unknown[]> {
  const rows = await scratch().select('SELECT least_request_bytes FROM oom_fact ORDER BY run_id');
  return rows.map((row) => Number(row['least_request_bytes']));
}

describe('a message', () => {
  it('counts the free blocks of private pools as allocated, which they are not', async () => {
    const [facts] = await factsOf([TEXT]);
    expect(facts!.allocated_bytes).toBe(68 * GIB);
    expect(facts!.private_free_bytes).toBe(2 * GIB);
    expect(facts!.reserved_bytes).toBe(70 * GIB + 512 * MIB);
    expect(facts!.process_bytes).toBe(71 * GIB);
    expect(facts!.other_processes_bytes).toBe(8 * GIB);
    expect(facts).toMatchObject({ device_free_bytes: 7 * MIB, freePlace: { path: 'train.log', line: 1 } });
    expect(facts!.device_free_precision_bytes).toBe(Math.ceil(0.005 * MIB));
  });

  it('prints the segment, so that the request may have been smaller', async () => {
    const sizes = ['2.00 MiB', '20.00 MiB', '30.00 MiB', '1.50 GiB'];
    await factsOf(sizes.map((size) => TEXT.replace('30.00 MiB', size)));
    const half = (unit: number): number => Math.ceil(0.005 * unit);
    expect(await leastRequests()).toEqual([
      512,
      MIB + 512,
      // From 10 MiB on the segment is the request, rounded up to 2 MiB; the print adds half a digit.
      28 * MIB + 512 - half(MIB),
      1.5 * GIB - 2 * MIB + 512 - half(GIB),
    ]);
  });

  it('has the total known by the user only where it prints none', async () => {
    const bare = 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB.';
    const [without, complete] = await factsOf([bare, TEXT], 80 * GIB);
    expect(without!.total).toEqual({ bytes: 80 * GIB, source: { option: '--capacity' } });
    expect(without!.total_precision_bytes).toBe(0);
    expect(complete!.total!.bytes).not.toBe(80 * GIB);
  });
});

describe('a message and an OOM entry', () => {
  /** Of rank 1, device 0: a request of 30 MiB. Each message has a rank and a device. */
  async function matched(segmentBytes: number, messages: readonly (readonly [number | null, number | null])[]) {
    const store = scratch();
    await insertLines(store, [incidentsInText(TEXT)[0]!], 'train.log');
    const [incident] = await store.select('FROM incident');
    const values = await store.select('FROM incident_value');
    const tables = ['snapshot', 'oom_state', 'trace_oom', 'derived_history', 'incident', 'incident_value'];
    for (const table of [...tables, 'judged_run', 'judged_rank', 'oom_fact']) await store.run(`DELETE FROM ${table}`);
    const about = { handle: 'h', protocol: 4, form: 'dict', has_traces: true, last_is_oom: true };
    await store.insertRows('snapshot', [{ snapshot_id: 1, source_id: 0, run_id: 0, rank: 1, ...about }]);
    const key = { snapshot_id: 1, device: 0 };
    const needed = (table: string) =>
      store.select(
        `SELECT column_name AS name, data_type AS type FROM duckdb_columns()
         WHERE table_name = '${table}' AND NOT is_nullable`,
      );
    const rows = {
      oom_state: { ...key, seq: 9, segment_request_bytes: segmentBytes },
      trace_oom: { ...key, seq: 9, requested_bytes: 30 * MIB, device_free_bytes: 7 * MIB },
      derived_history: { ...key, holds: true, events: 10 },
    };
    for (const [table, row] of Object.entries(rows)) {
      const columns = await needed(table);
      const blank = columns.map(({ name, type }) => [String(name), type === 'BOOLEAN' ? false : 0] as const);
      await store.insertRows(table, [{ ...Object.fromEntries(blank), ...row }]);
    }
    await store.insertRows(
      'incident',
      messages.map(([rank, device], i) => ({ ...incident, incident_id: i, rank, device, line: i })) as never,
    );
    await store.insertRows(
      'incident_value',
      messages.flatMap((_, i) => values.map((value) => ({ ...value, incident_id: i }))) as never,
    );
    await store.insertRows('judged_run', [{ run_id: 0, rules: 0 }]);
    await store.insertQuery('oom_fact', 'verdict.facts', { run_ids: '0', capacity_bytes: null });
    return store.select(
      'SELECT snapshot_id, incident_id, device_free_precision_bytes AS free_p, process_bytes FROM oom_fact ORDER BY failure',
    );
  }

  it('are the same where the printed segment is that of the traced request', async () => {
    expect(await matched(30 * MIB, [[null, 0]])).toEqual([
      // The exact figures stay, the rest is from the message.
      { snapshot_id: 1, incident_id: 0, free_p: 0, process_bytes: 71 * GIB },
    ]);
    expect(await matched(28 * MIB, [[null, 0]])).toMatchObject([
      { snapshot_id: 1, incident_id: null },
      { snapshot_id: null, incident_id: 0 },
    ]);
  });

  it('are not the same of another rank or device; of several, one with a rank is taken', async () => {
    expect(await matched(30 * MIB, [[2, 0]])).toMatchObject([{ incident_id: null }, { incident_id: 0 }]);
    expect(await matched(30 * MIB, [[1, 3]])).toMatchObject([{ incident_id: null }, { incident_id: 0 }]);
    const both = await matched(30 * MIB, [[null, null] as const, [1, 0] as const]);
    expect(both).toMatchObject([{ snapshot_id: 1, incident_id: 1 }]);
  });
});
