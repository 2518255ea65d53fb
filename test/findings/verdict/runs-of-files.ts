/** Runs made of a few files each, all of them in one store: what is judged from files through parsers and the store. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { DiagnoseOptions } from '../../../src/findings/flows/diagnose.js';
import type { DiagnoseResult } from '../../../src/model/results/common.js';
import { openStore } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import { contentKey } from '../../store/scratch.js';
import { sharedFolder, storeOf } from '../../support/stores.js';
import { diagnose } from './worded.js';

/** By path. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A read-only store of these runs, by name. */
export function storeOfRuns(runs: Readonly<Record<string, Files>>): string {
  const files = Object.entries(runs).flatMap(([run, files]) =>
    Object.entries(files).map(([path, bytes]) => [join(run, path), Buffer.from(bytes as string)] as const),
  );
  const key = contentKey(
    [],
    files.flatMap(([path, bytes]) => [path, bytes.toString('base64')]),
  );
  const folder = sharedFolder(`runs-${key}`, (unfinished) => {
    for (const [path, bytes] of files) {
      mkdirSync(dirname(join(unfinished, path)), { recursive: true });
      writeFileSync(join(unfinished, path), bytes);
    }
  });
  return storeOf(folder, ['--each']);
}

/** For the tests of a file: asks about runs of one store. */
export function runsOfFiles(runs: Readonly<Record<string, Files>>) {
  let store: Store;
  let ids: ReadonlyMap<string, number>;
  beforeAll(async () => {
    store = await openStore(storeOfRuns(runs), { mode: 'read' });
    ids = new Map((await store.all('store.runs', { run_id: null })).map(({ name, run_id }) => [name, run_id]));
    const [failed] = await store.select("SELECT count(*) AS sources FROM source WHERE status = 'failed'");
    expect(Number(failed!['sources'])).toBe(0);
  });
  afterAll(() => store.close());
  return {
    diagnosed: (run: string, options: DiagnoseOptions = {}): Promise<DiagnoseResult> =>
      diagnose(store, ids.get(run)!, run, options),
    idOf: (run: string): number => ids.get(run)!,
    store: (): Store => store,
  };
}
