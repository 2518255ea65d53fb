/** Makes sure that the histories a verb needs are in the store before it answers. */
import { deviceHistory } from '../findings/trace/device-history.js';
import { openStore } from '../ingest/store-to-open.js';
import { HISTORY_RULES } from '../model/derived-tables.js';
import { MbfError } from '../model/errors.js';
import type { Store } from '../store/store.js';
import type { Context } from './context.js';
import { type OpenedStore, openedStore, type StoreResources } from './path-store.js';
import { type DbOptions, resourcesOf } from './target.js';

/**
 * Derives the missing histories of `snapshotIds` and keeps them in the store: walking a trace of millions of entries
 * takes seconds, and every later question then starts from the result. Questions open stores for reading, concurrently;
 * so this closes the store, opens it for writing for as long as it takes, and opens it for reading again. Where the
 * store cannot be written (locked, read-only file system) it stays as it is, and histories are derived in memory; then
 * `cannotKeep(error)` is called. It may throw: what only SQL can answer has to be in the store.
 */
export async function withHistories<Opened extends OpenedStore>(
  opened: Opened,
  snapshotIds: readonly number[] | 'all',
  options: DbOptions,
  cannotKeep: (error: MbfError) => void = () => {},
): Promise<Opened> {
  const missing = await missingHistories(opened.store, snapshotIds);
  return derived(opened, missing, deviceHistory, options, cannotKeep);
}

/** Opens the store for writing, has `derive` keep what is missing, and opens it for reading again. */
async function derived<Opened extends OpenedStore>(
  opened: Opened,
  missing: readonly { readonly snapshot_id: number; readonly device: number }[],
  derive: (store: Store, snapshotId: number, device: number) => Promise<unknown>,
  options: DbOptions,
  cannotKeep: (error: MbfError) => void,
): Promise<Opened> {
  if (missing.length === 0) return opened;
  const resources = resourcesOf(options);
  const { file } = opened.store;
  await opened.store.close();
  try {
    const store = await openStore(file, { mode: 'write', ...resources });
    try {
      for (const { snapshot_id, device } of missing) await derive(store, snapshot_id, device);
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof MbfError && error.kind === 'store') {
      try {
        cannotKeep(error);
        return await reopened(opened, resources);
      } catch (refusal) {
        await opened.dispose();
        throw refusal;
      }
    }
    await opened.dispose();
    throw error;
  }
  return reopened(opened, resources);
}

async function reopened<Opened extends OpenedStore>(opened: Opened, resources: StoreResources): Promise<Opened> {
  const store = await openStore(opened.store.file, { mode: 'read', ...resources });
  return { ...opened, ...openedStore(store, opened.failed, opened.dispose) };
}

/** What exists only once the traces were walked. */
const DERIVED = /\b(?:allocation\w*|live_at|components_at|derived_\w+)\b/i;
/** Of these, what attribution makes. */
const ATTRIBUTED = /\b(?:allocation_component|components_at|derived_(?:attribution|label|block_label))\b/i;

/**
 * Histories, and attribution, of all snapshots if the statement names anything that is derived. Reports what is missing
 * where they cannot be kept.
 */
export async function withHistoriesFor(
  statement: string,
  opened: OpenedStore,
  options: DbOptions,
  context: Context,
): Promise<OpenedStore> {
  if (!DERIVED.test(statement)) return opened;
  const walked = await withHistories(opened, 'all', options, (error) =>
    context.err(`warning: actual sizes and memory from before the traces are missing: ${error.describe()}\n`),
  );
  if (!ATTRIBUTED.test(statement)) return walked;
  const { missingAttributions, storeAttribution } = await import('../findings/attribution/store-attribution.js');
  return derived(walked, await missingAttributions(walked.store), storeAttribution, options, (error) =>
    context.err(`warning: components are missing: ${error.describe()}\n`),
  );
}

async function missingHistories(store: Store, snapshotIds: readonly number[] | 'all') {
  const missing = await store.all('history.missing', { rules: HISTORY_RULES });
  if (snapshotIds === 'all') return missing;
  const ids = new Set(snapshotIds);
  return missing.filter((row) => ids.has(row.snapshot_id));
}
