/** The row of a run: what the user calls it, and how much of it there is. */
import type { QueryRow } from '../../store/query-catalog.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';

/** Undefined where the store holds no such run. Read once: its counts go through four tables. */
export const readRun: (store: Store, runId: number) => Promise<QueryRow<'store.runs'> | undefined> = readOnce(
  (store, runId) => store.one('store.runs', { run_id: runId }),
);
