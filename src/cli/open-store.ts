/**
 * Opening stores for verbs. What an ingest derives is there already, unless an older version made the store: then it is
 * derived now, once.
 */
import { openStore as open } from '../ingest/store-to-open.js';
import type { OpenStoreOptions } from '../store/open-store.js';
import type { Store } from '../store/store.js';

/** As `openStore` of `src/store/open-store.ts`. Reading waits a little for a writer to finish. */
export async function openStore(path: string, options: OpenStoreOptions): Promise<Store> {
  const store = await open(path, options);
  try {
    if (!(await lacksDerived(store))) return store;
    if (options.mode === 'write') {
      await derive(store);
      return store;
    }
  } catch (error) {
    await store.close();
    throw error;
  }
  await store.close();
  const writing = await open(path, { ...options, mode: 'write' });
  try {
    await derive(writing);
  } finally {
    await writing.close();
  }
  return open(path, options);
}

async function lacksDerived(store: Store): Promise<boolean> {
  const { HISTORY_RULES } = await import('../model/derived-tables.js');
  const { RULES_VERSION } = await import('../attribution/rules-version.js');
  const row = await store.one('store.lacks_derived', { history_rules: HISTORY_RULES, label_rules: RULES_VERSION });
  return row?.lacks ?? false;
}

async function derive(store: Store): Promise<void> {
  const [{ deriveStored, nameSites, underivedDevices }, { labelRun, unlabelledRuns }] = await Promise.all([
    import('../ingest/derive/derive-stored.js'),
    import('../findings/attribution/label-run.js'),
  ]);
  await nameSites(store);
  for (const device of await underivedDevices(store)) await deriveStored(store, device);
  for (const runId of await unlabelledRuns(store)) await labelRun(store, runId);
}
