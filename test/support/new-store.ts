/**
 * Stores to fill: as `openStore` makes them, made once and copied. Making one takes twice as long as opening it, and
 * the suites fill hundreds.
 */
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OpenStoreOptions, openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { sharedPath } from '../store/scratch.js';

let empty: Promise<string> | undefined;

async function makeEmpty(): Promise<string> {
  const path = sharedPath('.duckdb') ?? join(mkdtempSync(join(tmpdir(), 'mbf-empty-')), 'store.duckdb');
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
