/** A store that is opened when it is first needed: the database library takes longer to load than most questions take to answer. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StoreToOpen } from '../ingest/ingest.js';
import type { OpenStoreOptions } from '../store/open-store.js';
import type { Store } from '../store/store.js';

/** As `openStore` of `src/store/open-store.ts`, which is loaded only now. */
export async function openStore(path: string, options: OpenStoreOptions): Promise<Store> {
  const { openStore: open } = await import('../store/open-store.js');
  return open(path, options);
}

export interface ClosableStore extends StoreToOpen {
  /** Does nothing if the store was not opened. */
  close(): Promise<void>;
}

/** The store to ingest into. */
export function storeToOpen(path: string, options: OpenStoreOptions): ClosableStore {
  let store: Store | undefined;
  return {
    file: resolve(path),
    isNew: !existsSync(path),
    async open() {
      store = await openStore(path, options);
      return store;
    },
    close: async () => store?.close(),
  };
}
