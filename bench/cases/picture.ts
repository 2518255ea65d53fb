/** The page of `report`: writing it, against the questions whose answers it has; opening it, and moving through it. */
import { copyFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { formatCount } from '../../src/model/units.js';
import { type Browser, findChromium, launchBrowser, type Page } from '../../test/picture/browser.js';
import { type BenchContext, type Case, runCli, Skip, withFreshStore } from '../case.js';
import { type Input, recordingInput, snapshotInput } from '../inputs.js';
import { alternate, type Contender, type Sample } from '../measure.js';
import {
  boxOf,
  type Frames,
  framesOf,
  type Gesture,
  type Opening,
  openPage,
  quantile,
  WINDOW,
} from '../picture-frames.js';
import { polygonsPage } from '../picture-polygons.js';
import { type Bar, type Group, MEDIAN } from '../report.js';
import { summarise } from '../statistics.js';
import { countEvents, ingestInto, sizeTitle } from './snapshot-store.js';

/** Answers that are on the page. */
const QUESTIONS = ['diagnose', 'peak', 'timeline', 'attribute', 'state'];
const START_UP = '--version (start-up)';
const ALL = 'the questions, in turn';
const REPORT = 'report';
const ABOVE = 'report above the questions';

/** Seconds above the questions, by entries. */
const ABOVE_BARS: readonly (readonly [entries: number, seconds: number])[] = [
  [1_000_000, 1],
  [10_000_000, 5],
];
const PAGE_BYTES = 2e6;
const PAINT_SECONDS = 0.7;
const FRAME_SECONDS = 0.033;
const HEAP_BYTES = 80e6;
/** The model keeps its whole trace in memory. */
const MOST_RECORDED = 2_000_000;
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
        if (chromium !== undefined) yield* moving(context, entries, file, chromium);
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
        ...{ [isFirst(ALL)]: firstAll, [isFirst(REPORT)]: firstPage, [isFirst(ABOVE)]: above(firstPage, firstAll) },
      };
    };
    const samples = await alternate([round], context.repeat, context.progress);
    const limit = entries < BARRED_EVENTS ? undefined : ABOVE_BARS.find(([most]) => entries <= most)?.[1];
    const bars: Record<string, readonly Bar[]> = {};
    if (limit !== undefined) for (const row of [ABOVE, isFirst(ABOVE)]) bars[row] = [{ of: MEDIAN, limit }];
    return {
      ...{ case: 'picture', title: `the page of a ${sizeTitle(events, input.bytes)}`, baselines: [ALL] },
      ...{ samples, work: {}, bars },
      notes: [
        `the page: ${judged((await stat(file)).size, PAGE_BYTES, (bytes) => `${formatCount(bytes)} bytes`)}`,
        'each answer is a process of its own; "above" counts the start-up of the questions once, as if one process answered them all',
        '"first": in a store that was only ingested; the first of the questions walks the trace, and so does report',
      ],
    };
  });
}

const isFirst = (row: string): string => `${row}, first`;

const summed = (samples: readonly Sample[]): Sample => ({
  seconds: samples.reduce((sum, { seconds }) => sum + seconds, 0),
  peakRssBytes: samples.reduce<number | null>(
    (most, { peakRssBytes }) => (peakRssBytes === null ? most : Math.max(most ?? 0, peakRssBytes)),
    null,
  ),
});

const judged = (value: number, limit: number, text: (value: number) => string): string =>
  `${text(value)} (bar ${text(limit)}: ${value <= limit ? 'met' : 'missed'})`;

const PAINT = 'page: first paint';
const DRAWN = 'page: all views drawn';
const POLYGONS_PAINT = 'polygons: first paint';
const POLYGONS_BUILT = 'polygons: built and painted';
const POLYGONS_DRAWN = 'polygons: drawn';

const GESTURES: readonly Gesture[] = ['pan', 'zoom'];
/** The canvas with the pointer listeners, by section. */
const VIEWS: Readonly<Record<string, string>> = {
  stacked: '#stacked .surface:not(.overview) > canvas[tabindex]',
  map: '#map .surface > canvas[tabindex]',
};
const POLYGONS = 'polygons';
const FRAMES = 120;
/** One of them takes up to half a second. */
const POLYGON_FRAMES = 40;
const ROUNDS = 3;

/** Opening and moving the page, and its blocks as polygons, in turn in one browser. */
async function* moving(context: BenchContext, entries: number, file: string, chromium: string): AsyncIterable<Group> {
  const html = await readFile(file, 'utf8');
  const polygons = polygonsPage(html);
  const polygonsFile = `${file}.polygons.html`;
  await writeFile(polygonsFile, polygons.html);
  const before = loadavg()[0]!;
  const browser = await launchBrowser(chromium);
  const count = entries < BARRED_EVENTS ? FRAMES / 4 : FRAMES;
  const ours: Opening[] = [];
  const theirs: Opening[] = [];
  let sizes = '';
  try {
    const page: Contender = () =>
      onPage(browser, async (tab) => {
        const opened = await openPage(tab, pathToFileURL(file).href, true);
        ours.push(opened);
        const rows: Record<string, Sample> = { [PAINT]: sampleOf(opened.paint), [DRAWN]: sampleOf(opened.drawn) };
        for (const [view, selector] of Object.entries(VIEWS)) {
          for (const gesture of GESTURES) {
            await tab.evaluate(showPart(gesture));
            Object.assign(rows, rowsOf(view, gesture, await framesOf(tab, selector, gesture, count)));
          }
        }
        const boxes = await Promise.all(Object.values(VIEWS).map((selector) => boxOf(tab, selector)));
        sizes = boxes.map(({ width, height }) => `${width} × ${height}`).join(' and ');
        return rows;
      });
    const svg: Contender = () =>
      onPage(browser, async (tab) => {
        const opened = await openPage(tab, pathToFileURL(polygonsFile).href, false);
        theirs.push(opened);
        const rows: Record<string, Sample> = {
          [POLYGONS_PAINT]: sampleOf(opened.paint),
          [POLYGONS_DRAWN]: sampleOf(opened.drawn),
          [POLYGONS_BUILT]: sampleOf((await tab.evaluate<number>('benchBuilt')) / 1000),
        };
        for (const gesture of GESTURES) {
          await tab.evaluate(gesture === 'pan' ? 'lookAt(1 / 3, 2 / 3)' : 'lookAt(0, 1)');
          const frames = await framesOf(tab, 'svg', gesture, Math.min(count, POLYGON_FRAMES));
          Object.assign(rows, rowsOf(POLYGONS, gesture, frames));
        }
        return rows;
      });
    const samples = await alternate([page, svg], Math.min(context.repeat, ROUNDS), context.progress);
    const load = `load average ${before.toFixed(2)} before, ${loadavg()[0]!.toFixed(2)} after`;
    const isBarred = entries >= BARRED_EVENTS;
    const many = formatCount(polygons.polygons);
    yield {
      case: 'picture',
      title: `opening the page, and ${many} of its blocks as SVG polygons, in Chromium`,
      baselines: [POLYGONS_DRAWN],
      samples: new Map([...samples].filter(([row]) => !GESTURES.some((gesture) => row.includes(`, ${gesture}: `)))),
      work: {},
      bars: isBarred ? { [PAINT]: [{ of: MEDIAN, limit: PAINT_SECONDS }] } : {},
      notes: [
        'since the start of the navigation; "drawn" is the second frame after the last canvas got its first pixels',
        `memory of the page after a collection: ${heapText(ours)}; of the polygons: ${heapText(theirs)}`,
        load,
      ],
    };
    for (const gesture of GESTURES) {
      const of = new Map([...samples].filter(([row]) => row.includes(`, ${gesture}: `)));
      const baseline = row(POLYGONS, gesture, 'p95 between frames');
      const bar = { of: MEDIAN, limit: FRAME_SECONDS };
      yield {
        case: 'picture',
        title: `frames while the view ${gesture === 'pan' ? 'moves' : 'zooms'}: canvases of ${sizes}, ${many} polygons`,
        baselines: [],
        samples: of,
        work: {},
        bars: isBarred
          ? Object.fromEntries(Object.keys(VIEWS).map((view) => [row(view, gesture, 'p95 between frames'), [bar]]))
          : {},
        notes: [
          `frames that the compositor drew, from a trace of the browser; ${count} moves, ${Math.min(count, POLYGON_FRAMES)} of the polygons, each sent when the one before was handled`,
          'script: event listeners and animation frame callbacks of a frame; other views of the page that are on the screen are drawn too',
          Object.keys(VIEWS)
            .map((view) => {
              const ratio = medianOf(of, row(view, gesture, 'p95 between frames')) / medianOf(of, baseline);
              return `${view}: ${ratio.toFixed(3)} × the polygons' p95 between frames`;
            })
            .join('; '),
          load,
        ],
      };
    }
  } finally {
    await browser.close();
    await rm(polygonsFile, { force: true });
  }
}

/** A third of the trace, or all of it. */
const showPart = (gesture: Gesture): string => `(() => {
  const { firstSeq, lastSeq } = JSON.parse(document.getElementById('page').textContent).devices[0];
  const third = (lastSeq + 1 - Math.max(0, firstSeq)) / 3;
  const share = (times) => Math.round(Math.max(0, firstSeq) + times * third);
  location.hash = ${gesture === 'pan' ? "'#z=' + share(1) + '-' + share(2)" : "'#z=' + share(0) + '-' + share(3)"};
})()`;

async function onPage<T>(browser: Browser, act: (page: Page) => Promise<T>): Promise<T> {
  const page = await browser.newPage(WINDOW);
  try {
    return await act(page);
  } finally {
    await page.close();
  }
}

const row = (view: string, gesture: Gesture, what: string): string => `${view}, ${gesture}: ${what}`;

function rowsOf(view: string, gesture: Gesture, { between, script }: Frames): Record<string, Sample> {
  return {
    [row(view, gesture, 'median between frames')]: sampleOf(quantile(between, 0.5)),
    [row(view, gesture, 'p95 between frames')]: sampleOf(quantile(between, 0.95)),
    [row(view, gesture, 'median script')]: sampleOf(quantile(script, 0.5)),
    [row(view, gesture, 'p95 script')]: sampleOf(quantile(script, 0.95)),
  };
}

const sampleOf = (seconds: number): Sample => ({ seconds, peakRssBytes: null });

const medianOf = (samples: ReadonlyMap<string, readonly Sample[]>, name: string): number =>
  summarise(samples.get(name)!.map(({ seconds }) => seconds)).median;

function heapText(openings: readonly Opening[]): string {
  const megabytes = (of: (opening: Opening) => number): number => summarise(openings.map(of)).median / 1e6;
  const objects = megabytes(({ heapBytes }) => heapBytes);
  const arrays = megabytes(({ arrayBytes }) => arrayBytes);
  const all = judged(objects + arrays, HEAP_BYTES / 1e6, (value) => `${value.toFixed(1)} MB`);
  return `${objects.toFixed(1)} MB of objects and ${arrays.toFixed(1)} MB of arrays, ${all}`;
}
