/** Stores whose writer is killed, or whose disk is full: exactly the committed transactions stay. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.js';
import { scratchDirectory, sharedBuild, startChild } from './scratch.js';

const EVENTS = 5000;

async function committed(file: string): Promise<{ runs: number[]; eventCounts: number[] }> {
  const store = await openStore(file, { mode: 'read' });
  try {
    const runs = await store.select('SELECT run_id FROM run ORDER BY run_id');
    const events = await store.select(
      'SELECT count(*) AS n, sum(seq) AS total FROM trace_entry GROUP BY snapshot_id ORDER BY snapshot_id',
    );
    for (const { total } of events) expect(total).toBe((EVENTS * (EVENTS - 1)) / 2);
    return { runs: runs.map(({ run_id }) => Number(run_id)), eventCounts: events.map(({ n }) => Number(n)) };
  } finally {
    await store.close();
  }
}

const killedAfter = async (child: ReturnType<typeof startChild>, delayMs: number): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, delayMs));
  child.kill();
  await child.ended;
};

describe('SIGKILL', () => {
  it.each([150, 190, 210, 230, 250, 270, 300])(
    'while a store is made leaves a whole store or none (%d ms)',
    async (ms) => {
      const file = join(scratchDirectory(), 'a.duckdb');
      await killedAfter(startChild('lock-child.mjs', [sharedBuild(), file, 'write']), ms);
      if (readdirSync(join(file, '..')).includes('a.duckdb')) await (await openStore(file, { mode: 'read' })).close();
      await (await openStore(file, { mode: 'write' })).close();
    },
  );

  it.each([
    [0, 23],
    [1, 38],
    [4, 61],
    [11, 97],
  ])('leaves exactly the committed transactions, twice in one store (%d and %d ms)', async (...delays) => {
    const file = join(scratchDirectory(), 'a.duckdb');
    let next = 0;
    for (const delayMs of delays) {
      const child = startChild('ingest-child.mjs', [sharedBuild(), file, String(next), String(EVENTS)]);
      let acknowledged = Number(await child.nextLine());
      const listening = (async () => {
        for (;;) acknowledged = Number(await child.nextLine());
      })().catch(() => undefined);
      await killedAfter(child, delayMs);
      await listening;
      const { runs, eventCounts } = await committed(file);
      // The child may end between its COMMIT and its message, so one more is right too; a part never is.
      expect([acknowledged + 1, acknowledged + 2]).toContain(runs.length);
      expect(runs).toEqual(runs.map((_, index) => index));
      expect(eventCounts).toEqual(runs.map(() => EVENTS));
      next = runs.length;
    }
    expect(next).toBeGreaterThanOrEqual(delays.length);
    await (await openStore(file, { mode: 'write' })).close();
    expect(readdirSync(join(file, '..'))).toEqual(['a.duckdb']);
  });
});

// `ulimit -f` simulates a full disk: the kernel refuses to let the file grow, with EFBIG instead of ENOSPC.
describe.skipIf(process.platform === 'win32')('a disk that is full', () => {
  it('is MBF3005, and costs only the transaction that met it', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const limited = ['sh', '-c', `trap '' XFSZ; ulimit -f 8000; exec "$@"`, 'sh'];
    const child = startChild('ingest-child.mjs', [sharedBuild(), file, '0', String(EVENTS)], limited);
    let acknowledged = -1;
    let last = '';
    for (;;) {
      last = await child.nextLine();
      if (last.startsWith('{')) break;
      acknowledged = Number(last);
    }
    await child.ended;
    expect(JSON.parse(last)).toMatchObject({ code: 'MBF3005', file });
    const { runs, eventCounts } = await committed(file);
    expect(runs).toHaveLength(acknowledged + 1);
    expect(eventCounts).toEqual(runs.map(() => EVENTS));
  });
});
