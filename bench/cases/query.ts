import { type BenchContext, type Case, PICKLE_LOAD, pickleLoad, runCli, withFreshStore } from '../case.js';
import { snapshotInput } from '../inputs.js';
import { alternate, type Contender } from '../measure.js';
import type { Group } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

/** Questions by row name: one scan, the running peak, the heaviest stacks, and a self-join of the largest table. */
const SQL: Readonly<Record<string, string>> = {
  'sql: events by action': 'SELECT action, count(*), sum(size_bytes) FROM event GROUP BY ALL ORDER BY 2 DESC',
  'sql: peak of requested bytes': 'SELECT max(requested_delta_bytes), arg_max(seq, requested_delta_bytes) FROM event',
  'sql: top call sites': `SELECT frame.filename, frame.line, sum(event.size_bytes) AS bytes FROM event
    JOIN stack_frame USING (stack_id) JOIN frame USING (frame_id)
    WHERE event.action = 'alloc' AND stack_frame.pos = 8 GROUP BY ALL ORDER BY bytes DESC LIMIT 20`,
  'sql: lifetimes by stack': `SELECT alloc.stack_id, count(*), avg(free.time_us - alloc.time_us) AS lived_us
    FROM event AS free JOIN event AS alloc ON alloc.snapshot_id = free.snapshot_id AND alloc.device = free.device
    AND alloc.seq = free.alloc_seq WHERE free.action = 'free_completed' GROUP BY ALL ORDER BY lived_us DESC LIMIT 20`,
};

/** Answers from an ingested store, each a process of its own, against what Python pays before it can answer anything. */
export const queryCase: Case = {
  name: 'query',
  async *run(context) {
    for (const events of context.events) yield await measure(context, events);
  },
};

async function measure(context: BenchContext, entries: number): Promise<Group> {
  const { file, bytes } = await snapshotInput(context, entries);
  return withFreshStore(context, async (db) => {
    await ingestInto(context, file, db);
    const events = await countEvents(context, db, entries);
    const cli =
      (row: string, args: readonly string[]): Contender =>
      async () => {
        const { seconds, peakRssBytes } = await runCli(context, args);
        return { [row]: { seconds, peakRssBytes } };
      };
    const loadProcess = pickleLoad(context, file, 'gc on');
    const samples = await alternate(
      [
        cli('--version (start-up)', ['--version']),
        ...['snapshot', 'peak', 'diagnose'].map((verb) => cli(verb, [verb, '--db', db])),
        ...Object.entries(SQL).map(([row, statement]) => cli(row, ['sql', statement, '--db', db])),
        async () => ({ [PICKLE_LOAD]: (await loadProcess())[PICKLE_LOAD]! }),
      ],
      context.repeat,
      context.progress,
    );
    return {
      case: 'query',
      title: `store of a ${sizeTitle(events, bytes)}`,
      baselines: [PICKLE_LOAD],
      samples,
      work: {},
      bars: {},
      notes: [
        'each answer is a process of its own with its start-up; the store is in the page cache, having just been written',
      ],
    };
  });
}
