/** The page of `report`: writing it, against the questions whose answers it has; opening it, and moving through it. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { formatCount } from '../../src/model/units.js';
import { findChromium } from '../../test/picture/browser.js';
import { type BenchContext, type Case, runCli, Skip, withFreshStore } from '../case.js';
import { type Input, recordingInput, snapshotInput } from '../inputs.js';
import { alternate, type Contender, type Sample } from '../measure.js';
import { movingGroups } from '../picture-moving.js';
import { type Group, MEDIAN } from '../report.js';
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
    const run = async (...args: readonly string[]): Promise<Sample> => {
      const { seconds, peakRssBytes } = await runCli(context, [...args, '--db', db]);
      return { seconds, peakRssBytes };
    };
    const round: Contender = async () => {
      const { seconds: startUp, peakRssBytes } = await runCli(context, ['--version']);
      const answers: Record<string, Sample> = {};
      for (const verb of QUESTIONS) answers[verb] = await run(verb);
      const all = summed(Object.values(answers));
      const page = await run(REPORT, '-o', file, '--force');
      // One process that answers them all starts once.
      const above = page.seconds - (all.seconds - (QUESTIONS.length - 1) * startUp);
      return {
        [START_UP]: { seconds: startUp, peakRssBytes },
        ...answers,
        ...{ [ALL]: all, [REPORT]: page, [ABOVE]: { seconds: above, peakRssBytes: null } },
      };
    };
    const samples = await alternate([round], context.repeat, context.progress);
    const limit = entries < BARRED_EVENTS ? undefined : ABOVE_BARS.find(([most]) => entries <= most)?.[1];
    return {
      ...{ case: 'picture', title: `the page of a ${sizeTitle(events, input.bytes)}`, baselines: [ALL] },
      ...{ samples, work: {}, bars: limit === undefined ? {} : { [ABOVE]: [{ of: MEDIAN, limit }] } },
      notes: [
        `the page: ${judged((await stat(file)).size, PAGE_BYTES, (bytes) => `${formatCount(bytes)} bytes`)}`,
        '"the questions": the five above, each a process of its own; "above": report − the questions + 4 × start-up',
      ],
    };
  });
}

const summed = (samples: readonly Sample[]): Sample => ({
  seconds: samples.reduce((sum, { seconds }) => sum + seconds, 0),
  peakRssBytes: samples.reduce<number | null>(
    (most, { peakRssBytes }) => (peakRssBytes === null ? most : Math.max(most ?? 0, peakRssBytes)),
    null,
  ),
});

const judged = (value: number, limit: number, text: (value: number) => string): string =>
  `${text(value)} (bar ${text(limit)}: ${value <= limit ? 'met' : 'missed'})`;
