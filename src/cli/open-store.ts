/**
 * Opening stores for verbs. What an ingest concludes is there already, unless it was killed or had other rules: then it
 * is derived now, once.
 */
import { RULES_VERSION } from '../attribution/rules-version.js';
import { openStore as open, type WaitingOptions } from '../ingest/store-to-open.js';
import { DERIVE_RULES } from '../model/derived-tables.js';
import { MbfError } from '../model/errors.js';
import type { Store } from '../store/store.js';

/**
 * As `openStore` of `src/store/open-store.ts`. Reading waits a little for a writer to finish. What a store lacks that
 * cannot be written is derived into TEMP tables.
 */
export async function openStore(path: string, options: WaitingOptions): Promise<Store> {
  const store = await open(path, options);
  let missing: number[];
  try {
    missing = await underivedRuns(store);
    if (missing.length === 0) return store;
    const { derive, deriveTemporarily } = await import('../derive/derive.js');
    if (options.mode === 'write') await derive(store, missing);
    else if (!store.hasLibrary) await deriveTemporarily(store, missing);
    if (options.mode === 'write' || !store.hasLibrary) return store;
  } catch (error) {
    await store.close();
    throw error;
  }
  await store.close();
  const { derive, deriveTemporarily } = await import('../derive/derive.js');
  try {
    const writing = await open(path, { ...options, mode: 'write' });
    try {
      await derive(writing, missing);
    } finally {
      await writing.close();
    }
    return await open(path, options);
  } catch (error) {
    if (!(error instanceof MbfError && error.kind === 'store')) throw error;
  }
  const reading = await open(path, options);
  await deriveTemporarily(reading, missing);
  return reading;
}

/** Of a store whose library is of another build, all. */
async function underivedRuns(store: Store): Promise<number[]> {
  const rules = { rules: store.hasLibrary ? DERIVE_RULES : -1, label_rules: RULES_VERSION };
  return (await store.all('store.underived', rules)).map((row) => row.run_id);
}
