/** Golden values in the store: by name, one row a run. */
import { MbfError } from '../../../model/errors.js';
import type { Measurement } from '../../../model/measurement.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';

/** A row of the store, its document not yet read. */
export type GoldenRow = QueryRow<'golden.runs'>;

export function readGoldenRows(store: Store, name?: string): Promise<GoldenRow[]> {
  return store.all('golden.runs', { name: name ?? null });
}

export interface NewGolden {
  readonly form: 'measurement' | 'upstream';
  readonly source: string;
  readonly document: string;
}

/** Adds runs under a name; with `replace`, in the place of those it has. Returns how many it has then. */
export async function addGolden(
  store: Store,
  name: string,
  runs: readonly NewGolden[],
  now: Date,
  replace: boolean,
): Promise<number> {
  return store.transaction(async () => {
    if (replace) await store.run('DELETE FROM golden_run WHERE name = $name', { name });
    const known = replace ? 0 : (await readGoldenRows(store, name)).length;
    await store.insertRows(
      'golden_run',
      runs.map(({ form, source, document }, i) => ({
        name,
        position: known + i,
        added_at: now,
        form,
        source,
        document,
      })),
    );
    return known + runs.length;
  });
}

/** Returns how many runs it had. Throws MBF1009 for an unknown name. */
export async function removeGolden(store: Store, name: string): Promise<number> {
  const removed = await store.run('DELETE FROM golden_run WHERE name = $name', { name });
  if (removed === 0) throw new MbfError('MBF1009', `the store has no golden values ${JSON.stringify(name)}`);
  return removed;
}

/** A measurement as it is kept. Throws MBF2801 where the document is damaged. */
export function readMeasurement(row: GoldenRow): Measurement {
  try {
    return JSON.parse(row.document) as Measurement;
  } catch (error) {
    throw new MbfError('MBF2801', `golden values ${row.name}, run ${row.position}: no JSON`, {}, error);
  }
}
