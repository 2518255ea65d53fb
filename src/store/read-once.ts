/** What several parts of one answer ask of a run: read once, as long as nothing can change. */
import type { Store } from './store.js';

/** Runs whose answers are kept: a command is about one or two; one that walks through a thousand keeps no more. */
const MOST_RUNS = 4;

/** The same reading, but of a store that is open for reading only once a run. */
export function readOnce<Answer>(
  read: (store: Store, runId: number) => Promise<Answer>,
): (store: Store, runId: number) => Promise<Answer> {
  const known = new WeakMap<Store, Map<number, Promise<Answer>>>();
  return (store, runId) => {
    if (store.mode !== 'read') return read(store, runId);
    let runs = known.get(store);
    if (runs === undefined) {
      runs = new Map();
      known.set(store, runs);
    }
    const kept = runs.get(runId);
    if (kept !== undefined) return kept;
    const answer = read(store, runId);
    runs.set(runId, answer);
    // A failure may be of the moment: the next question asks again.
    answer.catch(() => runs.delete(runId));
    const [oldest] = runs.keys();
    if (runs.size > MOST_RUNS && oldest !== undefined) runs.delete(oldest);
    return answer;
  };
}
