/** The page of `report`: writing it, against the questions whose answers it has; opening it, and moving through it. */
import { copyFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { formatCount } from '../../src/model/units.js';
import { findChromium } from '../../test/picture/browser.js';
import { type BenchContext, type Case, runCli, Skip, withFreshStore } from '../case.js';
import { type Input, recordingInput, snapshotInput } from '../inputs.js';
import { alternate, type Contender, type Sample } from '../measure.js';
import { movingGroups } from '../picture-moving.js';
import { type Bar, type Group, MEDIAN } from '../report.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

/** Answers that are on the page. */
const QUESTIONS = ['diagnose', 'peak', 'timeline', 'attribute', 'state'];
const START_UP = '--version (start-up)';
const ALL = 'the questions';
const REPORT = 'report';
const ABOVE = 'report, above';

/** Seconds above the questions, by entries. */
const ABOVE_BARS: readonly (readonly [entries: number, seconds: number])[] = [
  [1_000_000, 1],
  [10_000_000, 5],
];
const PAGE_BYTES = 2e6;
/** The model keeps its whole trace in memory. */
const MOST_RECORDED = 2_000_000;
/** At small sizes start-up decides. */
const BARRED_EVENTS = 1_000_000;

export const pictureCase: Case = {
  name: 'picture',
  async *run(context) {
    const chromium = findChromium();
    for (const entries of context.events) {
      const input = await (entries > MOST_RECORDED ? snapshotInput : recordingInput)(context, entries);
      const file = join(context.directory, `picture-${process.pid}.html`);
      try {
        yield await writing(context, entries, input, file);
        if (chromium !== undefined) yield* movingGroups(context, entries, file, chromium);
      } finally {
        await rm(file, { force: true });
      }
    }
    if (chromium === undefined) throw new Skip('frames: Chromium was not found (MBF_CHROMIUM)');
  },
};

/** Leaves the page in `file`. */
async function writing(context: BenchContext, entries: number, input: Input, file: string): Promise<Group> {
  return withFreshStore(context, async (db) => {
    await ingestInto(context, input.file, db);
    const events = await countEvents(context, db, entries);
    const untouched = `${db}.untouched`;
    await copyFile(db, untouched);
    const run = async (args: readonly string[], store: string): Promise<Sample> => {
      const { seconds, peakRssBytes } = await runCli(context, [...args, '--db', store]);
      return { seconds, peakRssBytes };
    };
    const report = (store: string): Promise<Sample> => run([REPORT, '-o', file, '--force'], store);
    /** In a store that was only ingested: the first of them walks the trace. */
    const first = async (act: (store: string) => Promise<readonly Sample[]>): Promise<Sample> => {
      const fresh = `${db}.fresh`;
      await copyFile(untouched, fresh);
      try {
        return summed(await act(fresh));
      } finally {
        await rm(fresh, { force: true });
      }
    };
    // What the verbs keep in the store is there from now on.
    for (const verb of [...QUESTIONS, REPORT]) await (verb === REPORT ? report(db) : run([verb], db));
    const round: Contender = async () => {
      const { seconds: startUp, peakRssBytes } = await runCli(context, ['--version']);
      const answers: Record<string, Sample> = {};
      for (const verb of QUESTIONS) answers[verb] = await run([verb], db);
      const all = summed(Object.values(answers));
      const page = await report(db);
      const firstAll = await first(async (store) => {
        const samples: Sample[] = [];
        for (const verb of QUESTIONS) samples.push(await run([verb], store));
        return samples;
      });
      const firstPage = await first(async (store) => [await report(store)]);
      // One process that answers them all starts once.
      const above = (whole: Sample, questions: Sample): Sample => ({
        seconds: whole.seconds - (questions.seconds - (QUESTIONS.length - 1) * startUp),
        peakRssBytes: null,
      });
      return {
        [START_UP]: { seconds: startUp, peakRssBytes },
        ...answers,
        ...{ [ALL]: all, [REPORT]: page, [ABOVE]: above(page, all) },
        ...{ [firstOf(ALL)]: firstAll, [firstOf(REPORT)]: firstPage, [firstOf(ABOVE)]: above(firstPage, firstAll) },
      };
    };
    const samples = await alternate([round], context.repeat, context.progress);
    const limit = entries < BARRED_EVENTS ? undefined : ABOVE_BARS.find(([most]) => entries <= most)?.[1];
    const bars: Record<string, readonly Bar[]> = {};
    if (limit !== undefined) for (const row of [ABOVE, firstOf(ABOVE)]) bars[row] = [{ of: MEDIAN, limit }];
    return {
      ...{ case: 'picture', title: `the page of a ${sizeTitle(events, input.bytes)}`, baselines: [ALL] },
      ...{ samples, work: {}, bars },
      notes: [
        `the page: ${judged((await stat(file)).size, PAGE_BYTES, (bytes) => `${formatCount(bytes)} bytes`)}`,
        '"the questions": the five above, each a process of its own; "above": report − the questions + 4 × start-up',
        '"first": in a store that was only ingested; the first of the questions walks the trace, and so does report',
      ],
    };
  });
}

const firstOf = (row: string): string => `first: ${row}`;

const summed = (samples: readonly Sample[]): Sample => ({
  seconds: samples.reduce((sum, { seconds }) => sum + seconds, 0),
  peakRssBytes: samples.reduce<number | null>(
    (most, { peakRssBytes }) => (peakRssBytes === null ? most : Math.max(most ?? 0, peakRssBytes)),
    null,
  ),
});

const judged = (value: number, limit: number, text: (value: number) => string): string =>
  `${text(value)} (bar ${text(limit)}: ${value <= limit ? 'met' : 'missed'})`;
