/** Opening and moving the page of `report` in Chromium, and its blocks as SVG polygons, in turn in one browser. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { formatCount } from '../src/model/units.js';
import { type Browser, launchBrowser, type Page } from '../test/picture/browser.js';
import type { BenchContext } from './case.js';
import type { Sample } from './measure.js';
import {
  boxOf,
  type Frames,
  framesOf,
  type Gesture,
  type Opening,
  openPage,
  quantile,
  WINDOW,
} from './picture-frames.js';
import { polygonsPage } from './picture-polygons.js';
import { type Group, MEDIAN } from './report.js';
import { summarise } from './statistics.js';

const PAINT_SECONDS = 0.7;
const FRAME_SECONDS = 0.033;
const BARRED_EVENTS = 1_000_000;
/** 120 frames at 60 Hz. */
const SECONDS = 2;
const ROUNDS = 3;

const GESTURES: readonly Gesture[] = ['pan', 'zoom'];
/** Of each view the canvas with the pointer listeners. */
const VIEWS: Readonly<Record<string, string>> = {
  stacked: '#stacked .surface:not(.overview) > canvas[tabindex]',
  map: '#map .surface > canvas[tabindex]',
};
const POLYGONS = 'polygons';

const DRAWN = 'polygons: drawn';
const STATISTICS: Readonly<Record<string, (frames: Frames) => number>> = {
  'median between frames': ({ between }) => quantile(between, 0.5),
  'p95 between frames': ({ between }) => quantile(between, 0.95),
  'median script': ({ script }) => quantile(script, 0.5),
  'p95 script': ({ script }) => quantile(script, 0.95),
};
const P95 = 'p95 between frames';

interface Round {
  readonly page: Opening;
  readonly polygons: Opening;
  /** Milliseconds. */
  readonly polygonsBuilt: number;
  readonly points: number;
  readonly frames: Readonly<Record<Gesture, Readonly<Record<string, Frames>>>>;
  readonly sizes: string;
}

/** `file`: the page. */
export async function* movingGroups(
  context: BenchContext,
  entries: number,
  file: string,
  chromium: string,
): AsyncIterable<Group> {
  const polygons = polygonsPage(await readFile(file, 'utf8'));
  const polygonsFile = `${file}.polygons.html`;
  await writeFile(polygonsFile, polygons.html);
  const isBarred = entries >= BARRED_EVENTS;
  const seconds = isBarred ? SECONDS : SECONDS / 4;
  const loadBefore = loadavg()[0]!;
  const rounds: Round[] = [];
  const browser = await launchBrowser(chromium);
  try {
    for (let i = 1; i <= Math.min(context.repeat, ROUNDS); i += 1) {
      rounds.push(await measure(browser, file, polygonsFile, seconds));
      context.progress(`  in Chromium, round ${i}`);
    }
  } finally {
    await browser.close();
    await rm(polygonsFile, { force: true });
  }
  const load = `load average ${loadBefore.toFixed(2)} before, ${loadavg()[0]!.toFixed(2)} after`;
  const many = formatCount(polygons.polygons);
  yield {
    case: 'picture',
    title: `opening the page, and ${many} of its blocks as SVG polygons, in Chromium`,
    baselines: [DRAWN],
    samples: new Map([
      ['page: first paint', samplesOf(rounds, ({ page }) => page.paint)],
      ['page: all views drawn', samplesOf(rounds, ({ page }) => page.drawn)],
      ['polygons: first paint', samplesOf(rounds, (round) => round.polygons.paint)],
      [DRAWN, samplesOf(rounds, (round) => round.polygons.drawn)],
      ['polygons: built and painted', samplesOf(rounds, ({ polygonsBuilt }) => polygonsBuilt / 1000)],
    ]),
    work: {},
    bars: isBarred ? { 'page: first paint': [{ of: MEDIAN, limit: PAINT_SECONDS }] } : {},
    notes: [
      'since the start of the navigation; "drawn" is the second frame after the last canvas got its first pixels',
      `memory of the page after a collection: ${memoryText(rounds, ({ page }) => page)}`,
      `memory of the polygons: ${memoryText(rounds, (round) => round.polygons)}`,
      `the polygons have ${formatCount(rounds[0]!.points)} points; "built" includes where they are in the stack`,
      load,
    ],
  };
  for (const gesture of GESTURES) {
    const names = [...Object.keys(VIEWS), POLYGONS];
    const samples = new Map(
      names.flatMap((name) =>
        Object.entries(STATISTICS).map(
          ([what, statistic]) =>
            [`${name}: ${what}`, samplesOf(rounds, ({ frames }) => statistic(frames[gesture][name]!))] as const,
        ),
      ),
    );
    const p95 = (name: string): number => medianOf(samples.get(`${name}: ${P95}`)!.map((sample) => sample.seconds));
    const drawn = (name: string): string =>
      `${name} ${medianOf(rounds.map(({ frames }) => frames[gesture][name]!.between.length + 1))}`;
    const barred = Object.keys(VIEWS).map((name) => `${name}: ${P95}`);
    yield {
      case: 'picture',
      title: `a view is ${gesture === 'pan' ? 'moved' : 'zoomed'}; canvases of ${rounds[0]!.sizes}, ${many} polygons`,
      baselines: [],
      samples,
      work: {},
      bars: isBarred ? Object.fromEntries(barred.map((row) => [row, [{ of: MEDIAN, limit: FRAME_SECONDS }]])) : {},
      notes: [
        `frames that the compositor drew in ${seconds} s with 125 inputs a second: ${names.map(drawn).join(', ')}`,
        'script: listeners and callbacks of a frame; other views of the page near the screen are drawn too',
        ...Object.keys(VIEWS).map(
          (name) => `${name}: ${(p95(name) / p95(POLYGONS)).toFixed(3)} × the polygons' ${P95}`,
        ),
        load,
      ],
    };
  }
}

async function measure(browser: Browser, file: string, polygonsFile: string, seconds: number): Promise<Round> {
  const frames: Record<Gesture, Record<string, Frames>> = { pan: {}, zoom: {} };
  const sizes: string[] = [];
  const page = await onTab(browser, async (tab) => {
    const opening = await openPage(tab, pathToFileURL(file).href, true);
    for (const [name, selector] of Object.entries(VIEWS)) {
      for (const gesture of GESTURES) {
        await showPart(tab, gesture);
        frames[gesture][name] = await framesOf(tab, selector, gesture, seconds);
      }
      const { width, height } = await boxOf(tab, selector);
      sizes.push(`${Math.round(width)} × ${Math.round(height)}`);
    }
    return opening;
  });
  return onTab(browser, async (tab) => {
    const polygons = await openPage(tab, pathToFileURL(polygonsFile).href, false);
    for (const gesture of GESTURES) {
      await tab.evaluate(gesture === 'pan' ? 'lookAt(1 / 3, 2 / 3)' : 'lookAt(0, 1)');
      frames[gesture][POLYGONS] = await framesOf(tab, 'svg', gesture, seconds);
    }
    const polygonsBuilt = await tab.evaluate<number>('benchBuilt');
    const points = await tab.evaluate<number>('benchPoints');
    return { page, polygons, polygonsBuilt, points, frames, sizes: sizes.join(' and ') };
  });
}

/** One at a time: a tab behind another one is not drawn. */
async function onTab<T>(browser: Browser, act: (tab: Page) => Promise<T>): Promise<T> {
  const tab = await browser.newPage(WINDOW);
  try {
    return await act(tab);
  } finally {
    await tab.close();
  }
}

/** Milliseconds after which the page no longer changes its address because of what was before. */
const WRITTEN = 400;

/** A third of the trace is moved, all of it is zoomed. */
async function showPart(tab: Page, gesture: Gesture): Promise<void> {
  const [from, to] = gesture === 'pan' ? [1 / 3, 2 / 3] : [0, 1];
  await pause(WRITTEN);
  await tab.evaluate(`(() => {
    const { firstSeq, lastSeq } = JSON.parse(document.getElementById('page').textContent).devices[0];
    const first = Math.max(0, firstSeq);
    const placeOf = (share) => Math.round(first + share * (lastSeq + 1 - first));
    location.hash = '#z=' + placeOf(${from}) + '-' + placeOf(${to});
  })()`);
  // The page then writes its own address, which has the cursor, and the range unless all is visible.
  const late = performance.now() + 5000;
  for (let address = ''; !(/\bt=/.test(address) && /\bz=/.test(address) === (gesture === 'pan')); ) {
    if (performance.now() > late) throw new Error(`the page shows ${address}`);
    await pause(50);
    address = await tab.evaluate<string>('location.hash');
  }
}

const samplesOf = (rounds: readonly Round[], secondsOf: (round: Round) => number): readonly Sample[] =>
  rounds.map((round) => ({ seconds: secondsOf(round), peakRssBytes: null }));

const medianOf = (values: readonly number[]): number => summarise(values).median;

function memoryText(rounds: readonly Round[], openingOf: (round: Round) => Opening): string {
  const megabytes = (bytesOf: (opening: Opening) => number): string =>
    (medianOf(rounds.map((round) => bytesOf(openingOf(round)))) / 1e6).toFixed(1);
  const objects = megabytes(({ heapBytes }) => heapBytes);
  return `${objects} MB of objects and ${megabytes(({ arrayBytes }) => arrayBytes)} MB of arrays`;
}
