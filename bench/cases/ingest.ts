import {
  type BenchContext,
  type Case,
  callAlone,
  PICKLE_LOAD,
  PICKLE_LOAD_GC_OFF,
  pickleLoad,
  withFreshStore,
} from '../case.js';
import { snapshotInput } from '../inputs.js';
import { alternate } from '../measure.js';
import { type Bar, type Group, PEAK_RSS } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

const OURS = 'mbforensics ingest';

/** What ingest may cost, by entries of the snapshot. Small files are not here: there, process start-up decides. */
const BARS: ReadonlyMap<number, readonly Bar[]> = new Map([
  [1_000_000, [{ of: PICKLE_LOAD, limit: 0.27 }]],
  [
    5_000_000,
    [
      { of: PICKLE_LOAD, limit: 0.12 },
      { of: PICKLE_LOAD_GC_OFF, limit: 0.45 },
      { of: PEAK_RSS, limit: 380e6 },
    ],
  ],
]);

/** File to queryable store, against Python merely loading the file. */
export const ingestCase: Case = {
  name: 'ingest',
  async *run(context) {
    for (const events of context.events) yield await measure(context, events);
  },
};

async function measure(context: BenchContext, entries: number): Promise<Group> {
  const { file, bytes } = await snapshotInput(context, entries);
  // Untimed: brings both programs into the page cache and shows that the work is really done.
  const events = await withFreshStore(context, async (db) => {
    await ingestInto(context, file, db);
    return countEvents(context, db, entries);
  });
  const samples = await alternate(
    [
      () => withFreshStore(context, async (db) => ({ [OURS]: await ingestInto(context, file, db) })),
      pickleLoad(context, file, 'gc on'),
      pickleLoad(context, file, 'gc off'),
    ],
    context.repeat,
    context.progress,
  );
  const work = { bytes, events };
  return {
    case: 'ingest',
    title: sizeTitle(events, bytes),
    baselines: [PICKLE_LOAD, PICKLE_LOAD_GC_OFF],
    samples,
    work: { [OURS]: work, [PICKLE_LOAD]: work, [PICKLE_LOAD_GC_OFF]: work },
    bars: { [OURS]: BARS.get(entries) ?? [] },
    notes: [
      `whole processes with their start-up, in turn; "${callAlone('…')}" is timed inside Python and leaves out start-up and freeing`,
    ],
  };
}
