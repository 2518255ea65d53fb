import { join } from 'node:path';
import { packageRoot } from '../../src/store/load-queries.js';
import { type BenchContext, type Case, runCli, withFreshStore } from '../case.js';
import { type Input, recordingInput, snapshotInput } from '../inputs.js';
import { alternate, type Contender } from '../measure.js';
import { type Group, PEAK_RSS } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

const INGEST = 'mbforensics ingest';
const PASS = 'attribution: the pass alone';
const VERB = 'attribute';
const PEAK = 'peak';
const CHILD = join(packageRoot(), 'dist', 'bench', 'attribute-child.js');

/** Attribution of a whole trace, against the ingest of its file. */
export const attributeCase: Case = {
  name: 'attribute',
  async *run(context) {
    for (const events of context.events) {
      yield await measure(context, events, await snapshotInput(context, events), 'invented');
      yield await measure(context, events, await recordingInput(context, events), "the allocator model's");
    }
  },
};

async function measure(context: BenchContext, entries: number, { file, bytes }: Input, whose: string): Promise<Group> {
  return withFreshStore(context, async (db) => {
    await ingestInto(context, file, db);
    const events = await countEvents(context, db, entries);
    // The walk back is not attribution's: every question needs it.
    await runCli(context, ['peak', '--db', db]);
    const verb =
      (row: string, name: string): Contender =>
      async () => {
        const { seconds, peakRssBytes } = await runCli(context, [name, '--json=full', '--db', db]);
        return { [row]: { seconds, peakRssBytes } };
      };
    const samples = await alternate(
      [
        () => withFreshStore(context, async (fresh) => ({ [INGEST]: await ingestInto(context, file, fresh) })),
        async () => {
          const { stdout, peakRssBytes } = await context.timer.run(process.execPath, [CHILD, db]);
          const { seconds, blocks, labels } = JSON.parse(stdout) as { seconds: number; blocks: number; labels: number };
          if (blocks < entries / 4 || labels === 0) throw new Error(`only ${blocks} blocks were attributed`);
          return { [PASS]: { seconds, peakRssBytes } };
        },
        verb(VERB, 'attribute'),
        verb(PEAK, 'peak'),
      ],
      context.repeat,
      context.progress,
    );
    const work = { bytes, events };
    return {
      case: 'attribute',
      title: `${sizeTitle(events, bytes)}, addresses ${whose}`,
      baselines: [INGEST],
      samples,
      work: { [INGEST]: work, [PASS]: work },
      // At small sizes process start-up decides.
      bars:
        entries < 1_000_000
          ? {}
          : {
              [PASS]: [
                { of: INGEST, limit: 0.3 },
                { of: PEAK_RSS, limit: 500e6 },
              ],
            },
      notes: [
        'the pass is timed inside a process: reading the trace and the stacks, compiling the rules, labelling every block that lived',
        'verbs are processes of their own with start-up; both find the walk back in the store',
      ],
    };
  });
}
