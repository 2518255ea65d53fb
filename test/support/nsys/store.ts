/** Ingests of exports of Nsight Systems into a store in a temporary directory, and what the store holds afterwards. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { PARSERS } from '../../../parsers/index.js';
import { ingest } from '../../../src/ingest/ingest.js';
import type { IngestOptions } from '../../../src/ingest/options.js';
import type { IngestResult, IngestSource } from '../../../src/model/results/common.js';
import type { Store } from '../../../src/store/store.js';
import { newStore } from '../new-store.js';
import { allTexts, put, sqliteBytes, storedRows, type Tables, writeParquetFolder } from '../nsys-export.js';

type Fields = Record<string, unknown>;
type Options = Partial<IngestOptions>;

export function nsysStore() {
  let root = '';
  let store: Store;
  const open = async (): Promise<void> => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'mbf-nsys-')));
    store = await newStore(join(root, 'store.duckdb'));
  };
  const close = async (): Promise<void> => {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  };
  const at = (path: string): string => join(root, path);
  const run = (paths: readonly string[], options: Options = {}): Promise<IngestResult> =>
    ingest({ rowsOnly: true, store, parsers: PARSERS, paths: paths.map(at), now: new Date(0), ...options });
  /** Ingests a file as a run of its own. */
  const take = async (path: string, options?: Options): Promise<IngestSource> => {
    const { sources } = await run([path], options);
    expect(sources).toHaveLength(1);
    return sources[0]!;
  };
  return {
    /** A directory and a store for each test of a suite. */
    storeForEach() {
      beforeEach(open);
      afterEach(close);
    },
    /** The same for all of them: their files have different names. */
    storeForAll() {
      beforeAll(open);
      afterAll(close);
    },
    at,
    put: (path: string, content: string | Uint8Array) => void put(at(path), content),
    select: (sql: string): Promise<Fields[]> => store.select(sql),
    run,
    take,
    /** Writes an export and ingests it: a folder of Parquet files if it ends in `_pqtdir`, else a SQLite file. */
    async takeTables(path: string, tables: Tables, options?: Options): Promise<IngestSource> {
      if (path.endsWith('_pqtdir')) await writeParquetFolder(at(path), tables);
      else put(at(path), sqliteBytes(tables));
      return take(path, options);
    },
    async report(path = 'a.sqlite'): Promise<Fields> {
      const sql = 'SELECT r.* FROM nsys_report AS r JOIN source USING (source_id) WHERE path = $path';
      return (await store.select(sql, { path: at(path) }))[0]!;
    },
    async rowsOf(path: string) {
      const [row] = await store.select('SELECT source_id FROM source WHERE path = $path', { path: at(path) });
      return storedRows(store, Number(row!['source_id']));
    },
    async count(table: string, where = 'true'): Promise<number> {
      const [row] = await store.select(`SELECT count(*) AS n FROM ${table} WHERE ${where}`);
      return Number(row!['n']);
    },
    /** No text of the store contains one of these. */
    async expectNone(secrets: readonly string[]): Promise<void> {
      const texts = await allTexts(store);
      for (const secret of secrets) expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    },
  };
}

/** The status of each file, or the code of its error. */
export const statuses = ({ sources }: IngestResult): Record<string, string> =>
  Object.fromEntries(sources.map(({ path, status, error }) => [path, error?.code ?? status]));
