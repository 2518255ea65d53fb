/** The iterations of a run in figures: of all of it, with `attempt` NULL, and of each launch that printed some. */
import type { QueryRow } from '../../store/query-catalog.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';

type Row = QueryRow<'log.iteration_summary'>;

/**
 * Read once for a run: how it ended, how far it came and how fast it was all ask for it, and it looks at every line.
 */
export const readIterationSummary: (store: Store, runId: number) => Promise<readonly Row[]> = readOnce((store, runId) =>
  store.all('log.iteration_summary', { run_id: runId }),
);
