/**
 * A store that is opened when it is first needed: the database library takes longer to load than most questions take to
 * answer.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { MbfError } from '../model/errors.js';
import type { OpenStoreOptions } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import type { StoreToOpen } from './options.js';

/** How long a question waits for a process that writes: deriving a history takes seconds, an ingest minutes. */
const LOCK_WAIT_MS = 3_000;
const LOCK_POLL_MS = 100;

/**
 * As `openStore` of `src/store/open-store.ts`, which is loaded only now. Reading waits a little for a writer to finish.
 */
export async function openStore(path: string, { waitMs, ...options }: WaitingOptions): Promise<Store> {
  const { openStore: open, OPEN_HERE } = await import('../store/open-store.js');
  const until = Date.now() + (waitMs ?? (options.mode === 'read' ? LOCK_WAIT_MS : 0));
  for (;;) {
    try {
      return await open(path, options);
    } catch (error) {
      const locked = error instanceof MbfError && error.code === 'MBF3001' && error.message !== OPEN_HERE;
      if (!locked || Date.now() >= until) throw error;
      await new Promise((done) => setTimeout(done, LOCK_POLL_MS));
    }
  }
}

export interface WaitingOptions extends OpenStoreOptions {
  /** How long to wait for a process that has the store open; default: a little for reading, not at all for writing. */
  readonly waitMs?: number | undefined;
}

export interface ClosableStore extends StoreToOpen {
  /** Does nothing if the store was not opened. */
  close(): Promise<void>;
}

/** The store to ingest into. */
export function storeToOpen(path: string, options: WaitingOptions): ClosableStore {
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
