/** What only a second process can show: locks, SIGKILL, a disk that is full, and finding queries from compiled code. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { MbfError } from '../../src/model/errors.js';
import { openStore } from '../../src/store/open-store.js';
import { repoRoot, scratchDirectory, sharedBuild, startChild } from './scratch.js';

const EVENTS = 5000;
let build = '';
beforeAll(() => {
  build = sharedBuild();
});

async function committed(file: string): Promise<{ runs: number[]; eventCounts: number[] }> {
  const store = await openStore(file, { mode: 'read' });
  try {
    const runs = await store.select('SELECT run_id FROM run ORDER BY run_id');
    const events = await store.select(
      'SELECT count(*) AS n, sum(seq) AS total FROM event GROUP BY snapshot_id ORDER BY snapshot_id',
    );
    for (const { total } of events) expect(total).toBe((EVENTS * (EVENTS - 1)) / 2);
    return { runs: runs.map(({ run_id }) => Number(run_id)), eventCounts: events.map(({ n }) => Number(n)) };
  } finally {
    await store.close();
  }
}

describe('locks', () => {
  it('names the process that holds the store, and opens it once that is gone', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const writer = startChild('lock-child.mjs', [build, file, 'write']);
    expect(await writer.nextLine()).toBe('open');
    for (const mode of ['read', 'write'] as const) {
      const error: unknown = await openStore(file, { mode }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MbfError);
      expect((error as MbfError).code).toBe('MBF3001');
      expect((error as MbfError).message).toMatch(/PID \d+/);
      expect((error as MbfError).message).not.toContain('http');
    }
    writer.writeLine('enough');
    expect(await writer.nextLine()).toBe('closed');
    expect(await writer.ended).toBe(0);
    await (await openStore(file, { mode: 'write' })).close();
  });

  it('lets readers share, keeps writers out meanwhile, and lets go on close even if a stream was abandoned', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    await (await openStore(file, { mode: 'write' })).close();
    const store = await openStore(file, { mode: 'read' });
    const reader = startChild('lock-child.mjs', [build, file, 'read']);
    expect(await reader.nextLine()).toBe('open');
    reader.writeLine('enough');
    expect(await reader.ended).toBe(0);

    const refused = startChild('lock-child.mjs', [build, file, 'write']);
    expect(JSON.parse(await refused.nextLine())).toMatchObject({ code: 'MBF3001', file });

    for await (const batch of store.readColumns(
      'SELECT i::INTEGER AS i FROM range(1000000) AS rows(i)',
      {},
      { i: 'i32' },
    )) {
      expect(batch.rows).toBeGreaterThan(0);
      break;
    }
    // Not even finished with: the generator is left hanging between two batches.
    const hanging = store.readColumns('SELECT i::INTEGER AS i FROM range(1000000) AS rows(i)', {}, { i: 'i32' });
    await hanging.next();
    await store.close();
    const writer = startChild('lock-child.mjs', [build, file, 'write']);
    expect(await writer.nextLine()).toBe('open');
    writer.writeLine('enough');
    expect(await writer.ended).toBe(0);
  });

  it('gives one store to two processes that create it at once', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const children = [1, 2, 3].map(() => startChild('lock-child.mjs', [build, file, 'write']));
    const answers = await Promise.all(children.map((child) => child.nextLine()));
    expect(answers.filter((answer) => answer === 'open')).toHaveLength(1);
    for (const answer of answers) if (answer !== 'open') expect(JSON.parse(answer)).toMatchObject({ code: 'MBF3001' });
    for (const child of children) child.writeLine('enough');
    await Promise.all(children.map((child) => child.ended));
    expect(readdirSync(join(file, '..'))).toEqual(['a.duckdb']);
  });
});

describe('SIGKILL', () => {
  it('while a store is made leaves a whole store or none', async () => {
    for (const delayMs of [150, 190, 210, 230, 250, 270, 300]) {
      const file = join(scratchDirectory(), 'a.duckdb');
      const child = startChild('lock-child.mjs', [build, file, 'write']);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill();
      await child.ended;
      if (readdirSync(join(file, '..')).includes('a.duckdb')) await (await openStore(file, { mode: 'read' })).close();
      await (await openStore(file, { mode: 'write' })).close();
    }
  });

  it('leaves exactly the committed transactions', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    let next = 0;
    for (const delayMs of [0, 1, 4, 11, 23, 38, 61, 97]) {
      const child = startChild('ingest-child.mjs', [build, file, String(next), String(EVENTS)]);
      let acknowledged = Number(await child.nextLine());
      const listening = (async () => {
        for (;;) acknowledged = Number(await child.nextLine());
      })().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      child.kill();
      await child.ended;
      await listening;
      const { runs, eventCounts } = await committed(file);
      // The child may end between its COMMIT and its message, so one more is right too; a part never is.
      expect([acknowledged + 1, acknowledged + 2]).toContain(runs.length);
      expect(runs).toEqual(runs.map((_, index) => index));
      expect(eventCounts).toEqual(runs.map(() => EVENTS));
      next = runs.length;
    }
    expect(next).toBeGreaterThanOrEqual(8);
    await (await openStore(file, { mode: 'write' })).close();
    expect(readdirSync(join(file, '..'))).toEqual(['a.duckdb']);
  });
});

// `ulimit -f` simulates a full disk: the kernel refuses to let the file grow, with EFBIG instead of ENOSPC.
describe.skipIf(process.platform === 'win32')('a disk that is full', () => {
  it('is MBF3005, and costs only the transaction that met it', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const limited = ['sh', '-c', `trap '' XFSZ; ulimit -f 8000; exec "$@"`, 'sh'];
    const child = startChild('ingest-child.mjs', [build, file, '0', String(EVENTS)], limited);
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

describe('compiled code', () => {
  it('finds the package root and the queries', () => {
    const url = pathToFileURL(join(build, 'src', 'store', 'load-queries.js')).href;
    const script = `const m = await import(${JSON.stringify(url)}); console.log(JSON.stringify([m.packageRoot(), m.loadQuery('store.runs').title]))`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: '/',
      encoding: 'utf8',
    });
    const [root, title] = JSON.parse(stdout) as [string, string];
    expect(join(root, '/')).toBe(repoRoot);
    expect(title).not.toBe('');
  });
});
