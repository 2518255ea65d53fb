import { type BenchContext, type Case, callAlone, requirePython, withFreshStore } from '../case.js';
import { jsonInput } from '../inputs.js';
import { alternate, type Contender } from '../measure.js';
import { type Group, PEAK_RSS } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

const OURS = 'mbforensics ingest';
const JSON_LOAD = 'json.load';

/** A snapshot converted to JSON, from file to queryable store, against Python merely loading the file. */
export const jsonCase: Case = {
  name: 'json',
  async *run(context) {
    for (const events of context.events) yield await measure(context, events);
  },
};

async function measure(context: BenchContext, entries: number): Promise<Group> {
  const { file, bytes } = await jsonInput(context, entries);
  const events = await withFreshStore(context, async (db) => {
    await ingestInto(context, file, db);
    return countEvents(context, db, entries);
  });
  const samples = await alternate(
    [
      () => withFreshStore(context, async (db) => ({ [OURS]: await ingestInto(context, file, db) })),
      jsonLoad(context, file),
    ],
    context.repeat,
    context.progress,
  );
  const work = { bytes, events };
  return {
    case: 'json',
    title: sizeTitle(events, bytes),
    baselines: [JSON_LOAD, callAlone(JSON_LOAD)],
    samples,
    work: { [OURS]: work, [JSON_LOAD]: work, [callAlone(JSON_LOAD)]: work },
    bars: {
      [OURS]: [
        { of: callAlone(JSON_LOAD), limit: 0.5 },
        { of: PEAK_RSS, limit: 400e6 },
      ],
    },
    notes: ['the file is `json.dumps` of the snapshot: every stack is spelled out in full'],
  };
}

/** The whole process, and from a clock inside it the call alone. */
function jsonLoad(context: BenchContext, file: string): Contender {
  const program = [
    'import json, sys, time',
    'began = time.perf_counter()',
    'snapshot = json.load(open(sys.argv[1]))',
    'print(time.perf_counter() - began)',
  ].join('\n');
  const { executable } = requirePython(context);
  return async () => {
    const { stdout, ...sample } = await context.timer.run(executable, ['-c', program, file]);
    return { [JSON_LOAD]: sample, [callAlone(JSON_LOAD)]: { seconds: Number(stdout), peakRssBytes: null } };
  };
}
