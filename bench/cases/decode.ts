import {
  type BenchContext,
  type Case,
  callAlone,
  FIRST_PASS,
  type ParseCounts,
  PICKLE_LOAD_GC_OFF,
  passSamples,
  pickleLoad,
  runParser,
  SECOND_PASS,
} from '../case.js';
import { snapshotInput } from '../inputs.js';
import { alternate } from '../measure.js';
import type { Group } from '../report.js';
import { summarise } from '../statistics.js';
import { sizeTitle } from './snapshot-store.js';

const PYTHON = callAlone(PICKLE_LOAD_GC_OFF);

/**
 * Seconds on one 2-core VM (AMD EPYC, Zen 4 class; CPython 3.11.7), files of the same generator, medians of 5 (5M: of
 * 3): the same algorithm written in C (-O3, no escape handling, no bounds checks: an optimistic ceiling), and
 * `pickle.load` with gc off.
 */
const REFERENCE: ReadonlyMap<number, { readonly c: number; readonly pickleLoad: number }> = new Map([
  [100_000, { c: 0.033, pickleLoad: 0.116 }],
  [1_000_000, { c: 0.245, pickleLoad: 1.15 }],
  [5_000_000, { c: 1.22, pickleLoad: 9.36 }],
]);

/** The snapshot decoder alone, and how far it is from the same algorithm in C. */
export const decodeCase: Case = {
  name: 'decode',
  async *run(context) {
    for (const events of context.events) yield await measure(context, events);
  },
};

async function measure(context: BenchContext, entries: number): Promise<Group> {
  const { file, bytes } = await snapshotInput(context, entries);
  let counts: ParseCounts = { events: 0, incidents: 0, logRows: 0 };
  const python = pickleLoad(context, file, 'gc off');
  const samples = await alternate(
    [
      async () => {
        const report = await runParser(context, 'torch-snapshot', file);
        counts = report.counts;
        return passSamples(report);
      },
      async () => ({ [PYTHON]: (await python())[PYTHON]! }),
    ],
    context.repeat,
    context.progress,
  );
  if (counts.events < entries) throw new Error(`the decoder saw ${counts.events} events of ${entries}`);
  const work = { bytes, events: counts.events };
  const median = (row: string): number => summarise(samples.get(row)!.map((sample) => sample.seconds)).median;
  return {
    case: 'decode',
    title: sizeTitle(counts.events, bytes),
    baselines: [PYTHON],
    samples,
    work: { [FIRST_PASS]: work, [SECOND_PASS]: work, [PYTHON]: work },
    bars: {},
    notes: [
      'both passes run in one fresh process: the first includes compiling the code, as every ingest does',
      ...ceilingNotes(entries, median(FIRST_PASS), median(SECOND_PASS), median(PYTHON)),
    ],
  };
}

/** C cannot be compiled here, so the recorded figure is scaled by the speed of this machine on what both have run. */
function ceilingNotes(entries: number, first: number, second: number, python: number): string[] {
  const reference = REFERENCE.get(entries);
  if (reference === undefined) return [`no C figure was recorded for ${entries} events`];
  const factor = python / reference.pickleLoad;
  const c = reference.c * factor;
  return [
    `recorded on the reference machine (2-core Zen 4 class VM): the same algorithm in C ${reference.c} s, pickle.load with gc off ${reference.pickleLoad} s`,
    `ESTIMATE: pickle.load takes ${factor.toFixed(2)} × as long here, so C would take about ${c.toFixed(3)} s; ` +
      `distance to it: first pass ${(first / c).toFixed(2)} ×, second ${(second / c).toFixed(2)} ×`,
  ];
}
