/** What only a second process can show: locks, and finding queries from compiled code. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.js';
import { newStore } from '../support/new-store.js';
import { refusal } from './duckdb.js';
import { repoRoot, scratchDirectory, sharedBuild, startChild } from './scratch.js';

let build = '';
beforeAll(() => {
  build = sharedBuild();
});

describe('locks', () => {
  it('names the process that holds the store, and opens it once that is gone', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    const writer = startChild('lock-child.mjs', [build, file, 'write']);
    expect(await writer.nextLine()).toBe('open');
    for (const mode of ['read', 'write'] as const) {
      const error = await refusal(openStore(file, { mode }));
      expect(error.code).toBe('MBF3001');
      expect(error.message).toMatch(/PID \d+/);
      expect(error.message).not.toContain('http');
    }
    writer.writeLine('enough');
    expect(await writer.nextLine()).toBe('closed');
    expect(await writer.ended).toBe(0);
    await (await openStore(file, { mode: 'write' })).close();
  });

  it('lets readers share, keeps writers out meanwhile, and lets go on close even if a stream was abandoned', async () => {
    const file = join(scratchDirectory(), 'a.duckdb');
    await (await newStore(file)).close();
    const store = await openStore(file, { mode: 'read' });
    const reader = startChild('lock-child.mjs', [build, file, 'read']);
    expect(await reader.nextLine()).toBe('open');
    reader.writeLine('enough');
    expect(await reader.ended).toBe(0);

    const refused = startChild('lock-child.mjs', [build, file, 'write']);
    expect(JSON.parse(await refused.nextLine())).toMatchObject({ code: 'MBF3001', file });

    const sql = 'SELECT i::INTEGER AS i FROM range(1000000) AS rows(i)';
    for await (const batch of store.readColumns(sql, {}, { i: 'i32' })) {
      expect(batch.rows).toBeGreaterThan(0);
      break;
    }
    // Not even finished with: the generator is left hanging between two batches.
    const hanging = store.readColumns(sql, {}, { i: 'i32' });
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
