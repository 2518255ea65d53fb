/**
 * Opening stores for verbs. What an ingest derives is there already, unless an older version made the store: then it is
 * derived now, once.
 */
import { RULES_VERSION } from '../attribution/rules-version.js';
import { openStore as open, type WaitingOptions } from '../ingest/store-to-open.js';
import { FACT_RULES, HISTORY_RULES } from '../model/derived-tables.js';
import { MbfError } from '../model/errors.js';
import type { Store } from '../store/store.js';

/**
 * As `openStore` of `src/store/open-store.ts`. Reading waits a little for a writer to finish. A store that cannot be
 * written and lacks labels or the facts of failures only (a killed ingest leaves one so) is opened without them.
 */
export async function openStore(path: string, options: WaitingOptions): Promise<Store> {
  const store = await open(path, options);
  let lacks: Lacks;
  try {
    lacks = await whatLacks(store);
    if (!lacks.lifetimes && !lacks.others) return store;
    if (options.mode === 'write') {
      await derive(store);
      return store;
    }
  } catch (error) {
    await store.close();
    throw error;
  }
  await store.close();
  try {
    const writing = await open(path, { ...options, mode: 'write' });
    try {
      await derive(writing);
    } finally {
      await writing.close();
    }
  } catch (error) {
    if (lacks.lifetimes || !(error instanceof MbfError && error.kind === 'store')) throw error;
  }
  return open(path, options);
}

interface Lacks {
  readonly lifetimes: boolean;
  /** Labels, or the facts of failures. */
  readonly others: boolean;
}

async function whatLacks(store: Store): Promise<Lacks> {
  const rules = { history_rules: HISTORY_RULES, label_rules: RULES_VERSION, fact_rules: FACT_RULES };
  const row = await store.one('store.lacks_derived', rules);
  return { lifetimes: row?.lacks_lifetimes ?? false, others: row?.lacks_others ?? false };
}

async function derive(store: Store): Promise<void> {
  const [{ deriveStored, nameSites, underivedDevices }, { labelRun, unlabelledRuns }, { unjudgedRuns, writeFacts }] =
    await Promise.all([
      import('../ingest/derive/derive-stored.js'),
      import('../derive/attribution/label-run.js'),
      import('../derive/verdict/write-facts.js'),
    ]);
  await nameSites(store);
  for (const device of await underivedDevices(store)) await deriveStored(store, device);
  for (const runId of await unlabelledRuns(store)) await labelRun(store, runId);
  await writeFacts(store, await unjudgedRuns(store));
}
