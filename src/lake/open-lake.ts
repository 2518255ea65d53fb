/** A lake as a store that is read. */
import { realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MbfError } from '../model/errors.js';
import { MIB } from '../model/units.js';
import { openConfined } from '../store/confined-duckdb.js';
import { Store } from '../store/store.js';
import { temporaryName } from '../store/temporary-files.js';
import { checkLake } from './lake-files.js';
import { fileViews, lakeViews } from './lake-views.js';

let opened = 0;

/**
 * Opened for one statement, which finds what it names; or with the files of some tables, as other engines see them.
 *
 * MBF1003 where the directory does not exist, MBF3009 where it is not a lake of this version. DuckDB reads files of the
 * directory alone. What memory does not hold is in a temporary directory: a thousand ranks have 70 million entries.
 */
export async function openLake(
  directory: string,
  asked: string | readonly string[],
  {
    memoryLimitBytes = 1024 * MIB,
    threads = 4,
  }: { readonly memoryLimitBytes?: number; readonly threads?: number } = {},
): Promise<Store> {
  let lake: string;
  try {
    lake = realpathSync(directory);
  } catch (error) {
    throw new MbfError('MBF1003', 'no such directory', { file: directory }, error);
  }
  checkLake(lake);
  opened += 1;
  const spill = temporaryName(join(tmpdir(), `mbforensics-lake-${opened}`), 'tmp', tmpdir());
  const release = (): void => rmSync(spill, { recursive: true, force: true });
  const { instance, connection } = await openConfined(lake, { memoryBytes: memoryLimitBytes, threads, spill });
  try {
    const views = typeof asked === 'string' ? lakeViews(lake, asked) : fileViews(lake, asked);
    if (views.length > 0) await connection.run(views.join(';\n'));
  } catch (error) {
    connection.closeSync();
    instance.closeSync();
    release();
    throw error;
  }
  return new Store({
    file: directory,
    mode: 'read',
    instance,
    connection,
    searchPath: undefined,
    ownsLibrary: true,
    release,
  });
}
