/**
 * What is kept of paths in the cache directory, by their content key: `KEY-SCHEMA.PARSERS.duckdb`, the store of a run,
 * and `KEY-QUESTION.json`, an answer about it.
 */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Context } from './context.js';

/** Cached stores beyond this many are removed, the oldest first; answers too, which are right without their store. */
const MAX_CACHED = 32;

export const cachePlace = ({ cacheDir }: Pick<Context, 'cacheDir'>): string => join(cacheDir, 'paths');

/** Removes the oldest. */
export async function prune(directory: string): Promise<void> {
  for (const ending of ['.duckdb', '.json'])
    for (const file of (await newestFirst(directory, ending)).slice(MAX_CACHED)) await rm(file, { force: true });
}

/** Files with this ending. */
export async function newestFirst(directory: string, ending: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const aged = await Promise.all(
    names
      .filter((name) => name.endsWith(ending))
      // Another process may have removed it.
      .map(async (name) => ({
        file: join(directory, name),
        at: (await stat(join(directory, name)).catch(() => undefined))?.mtimeMs ?? 0,
      })),
  );
  return aged.sort((a, b) => b.at - a.at).map(({ file }) => file);
}
