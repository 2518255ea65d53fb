/** What several parts of one answer ask: read once, as long as nothing can change. */
import type { Store } from './store.js';

/** A command is about one or two runs; one that goes through a thousand keeps no more. */
const MOST_KEPT = 4;

/**
 * The same reading, but only once a key: of a store that is open for reading, and of another one as long as nothing is
 * written. `revisionOf`: of what is read.
 */
export function readOnce<Answer, Key extends number | string = number>(
  read: (store: Store, key: Key) => Promise<Answer>,
  revisionOf: (store: Store) => number | undefined = (store) => store.revision,
): (store: Store, key: Key) => Promise<Answer> {
  const known = new WeakMap<Store, { readonly revision: number; readonly answers: Map<Key, Promise<Answer>> }>();
  return (store, key) => {
    const revision = store.mode === 'read' ? 0 : revisionOf(store);
    if (revision === undefined) return read(store, key);
    let entry = known.get(store);
    if (entry?.revision !== revision) {
      entry = { revision, answers: new Map() };
      known.set(store, entry);
    }
    const { answers } = entry;
    const kept = answers.get(key);
    if (kept !== undefined) return kept;
    const answer = read(store, key);
    answers.set(key, answer);
    // A failure may be of the moment: the next question asks again.
    answer.catch(() => answers.delete(key));
    const [oldest] = answers.keys();
    if (answers.size > MOST_KEPT && oldest !== undefined) answers.delete(oldest);
    return answer;
  };
}
