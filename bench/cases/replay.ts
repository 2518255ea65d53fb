import { copyFile, rm } from 'node:fs/promises';
import { type BenchContext, type Case, PICKLE_LOAD_GC_OFF, pickleLoad, runCli, withFreshStore } from '../case.js';
import { recordingInput } from '../inputs.js';
import { alternate, type Contender } from '../measure.js';
import { type Group, PEAK_RSS } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

const REPLAY = 'replay';
const REPLAY_FIRST = 'replay, first';
const SWEEP = 'whatif, default sweep';

const MOST_BYTES = 400e6;

/** The verifying replay of a whole trace, and the default sweep of what-if replays over it. */
export const replayCase: Case = {
  name: 'replay',
  async *run(context) {
    for (const events of context.events) yield await measure(context, events);
  },
};

async function measure(context: BenchContext, entries: number): Promise<Group> {
  const { file, bytes } = await recordingInput(context, entries);
  return withFreshStore(context, async (db) => {
    await ingestInto(context, file, db);
    const events = await countEvents(context, db, entries);
    const untouched = `${db}.untouched`;
    await copyFile(db, untouched);
    const ask =
      (row: string, args: readonly string[], store: string): Contender =>
      async () => {
        const { seconds, peakRssBytes, stdout } = await runCli(context, [...args, '--json=full', '--db', store]);
        if (args[1] === 'replay' && !stdout.includes('"status": "exact"') && !stdout.includes('"status":"exact"'))
          throw new Error(`the replay is not exact: ${stdout.slice(0, 600)}`);
        return { [row]: { seconds, peakRssBytes } };
      };
    const fresh = `${db}.fresh`;
    /** As the first question after an ingest: the walk back has not been made. */
    const first: Contender = async () => {
      await copyFile(untouched, fresh);
      try {
        return await ask(REPLAY_FIRST, ['whatif', 'replay'], fresh)();
      } finally {
        await rm(fresh, { force: true });
      }
    };
    const load = pickleLoad(context, file, 'gc off');
    const samples = await alternate(
      [
        first,
        ask(REPLAY, ['whatif', 'replay'], db),
        ask(SWEEP, ['whatif'], db),
        async () => ({ [PICKLE_LOAD_GC_OFF]: (await load())[PICKLE_LOAD_GC_OFF]! }),
      ],
      context.repeat,
      context.progress,
    );
    const work = { bytes, events };
    const rss = { of: PEAK_RSS, limit: MOST_BYTES };
    return {
      case: 'replay',
      title: sizeTitle(events, bytes),
      baselines: [PICKLE_LOAD_GC_OFF],
      samples,
      work: { [REPLAY_FIRST]: work, [REPLAY]: work },
      // At small sizes process start-up decides.
      bars:
        entries < 1_000_000
          ? {}
          : {
              [REPLAY_FIRST]: [{ of: PICKLE_LOAD_GC_OFF, limit: 1 }, rss],
              [REPLAY]: [{ of: PICKLE_LOAD_GC_OFF, limit: 1 }, rss],
              [SWEEP]: [{ of: PICKLE_LOAD_GC_OFF, limit: 8 }, rss],
            },
      notes: [
        'the recording is made by the allocator model; its replay must be exact, or the case fails',
        'each answer is a process of its own with its start-up; "first" also walks the trace back',
      ],
    };
  });
}
