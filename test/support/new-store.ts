/**
 * Stores to fill: as `openStore` makes them, made once and copied. Making one takes twice as long as opening it, and
 * the suites fill hundreds.
 */
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs';
import { PARSERS } from '../../parsers/index.js';
import { ingest } from '../../src/ingest/ingest.js';
import type { IngestResult } from '../../src/model/results/common.js';
import { type OpenStoreOptions, openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { sharedPath } from '../store/scratch.js';

let empty: Promise<string> | undefined;

async function makeEmpty(): Promise<string> {
  const path = sharedPath('empty.duckdb');
  if (existsSync(path)) return path;
  const mine = `${path}.${process.pid}`;
  rmSync(mine, { force: true });
  await (await openStore(mine, { mode: 'write' })).close();
  renameSync(mine, path);
  return path;
}

/** Opens a new store at `file`, for writing. */
export async function newStore(file: string, options: Omit<OpenStoreOptions, 'mode'> = {}): Promise<Store> {
  empty ??= makeEmpty();
  copyFileSync(await empty, file);
  return openStore(file, { ...options, mode: 'write' });
}

/**
 * A new store at `file` with these files or directories, closed and opened for reading: as verbs read it, which is also
 * several times faster, for much of a run is read once (`read-once.ts`).
 */
export async function ingested(
  file: string,
  paths: readonly string[],
  { each, ...options }: Omit<OpenStoreOptions, 'mode'> & { readonly each?: boolean } = {},
): Promise<{ readonly store: Store; readonly result: IngestResult }> {
  const written = await newStore(file, options);
  const ingesting = ingest({
    rowsOnly: true,
    store: written,
    parsers: PARSERS,
    paths: [...paths],
    each,
    now: new Date(),
  });
  const result = await ingesting.finally(() => written.close());
  return { result, store: await openStore(file, { ...options, mode: 'read' }) };
}
