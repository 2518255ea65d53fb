/**
 * A page in Chromium while synthetic input moves it. Frames are those that the compositor drew (`DrawFrame` of a trace
 * of the browser), so that copying and painting count, not only scripts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '../test/picture/browser.js';

/** CSS pixels of the window: the canvas of the stacked view is about 1600 × 420 with what is around it. */
export const WINDOW = { width: 1600, height: 900 };

export type Gesture = 'pan' | 'zoom';

export interface Frames {
  /** Seconds from one drawn frame to the next one. */
  readonly between: readonly number[];
  /** Seconds of script by frame: event listeners and animation frame callbacks. */
  readonly script: readonly number[];
}

export interface Opening {
  /** Seconds from the start of the navigation to the first contentful paint. */
  readonly paint: number;
  /** Seconds from the start of the navigation until what was drawn last for the first time is on the screen. */
  readonly drawn: number;
  /** Bytes of objects, and of typed arrays, after a collection. */
  readonly heapBytes: number;
  readonly arrayBytes: number;
}

/** Sets `benchDrawn` to the time of the second frame after the last canvas got its first pixels. */
const WATCH_CANVASES = `(() => {
  const known = new WeakSet();
  const put = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (...all) {
    put.apply(this, all);
    if (known.has(this)) return;
    known.add(this);
    globalThis.benchDrawn = undefined;
    requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.benchDrawn = performance.now(); }));
  };
})()`;

/** A page that sets `benchDrawn` itself needs no `canvases`. */
export async function openPage(page: Page, url: string, canvases: boolean): Promise<Opening> {
  if (canvases) await page.send('Page.addScriptToEvaluateOnNewDocument', { source: WATCH_CANVASES });
  const paint = await firstPaint(page, url);
  const drawn = await page.evaluate<number>(`new Promise((done, fail) => {
    const late = performance.now() + 30000;
    const look = () => {
      if (globalThis.benchDrawn !== undefined) done(globalThis.benchDrawn);
      else if (performance.now() > late) fail(new Error('nothing was drawn in 30 seconds'));
      else setTimeout(look, 20);
    };
    look();
  })`);
  await page.send('HeapProfiler.collectGarbage');
  const heap = await page.send<{ usedSize: number; backingStorageSize: number }>('Runtime.getHeapUsage');
  return {
    paint: paint / 1000,
    drawn: drawn / 1000,
    heapBytes: heap.usedSize,
    arrayBytes: heap.backingStorageSize,
  };
}

/** Milliseconds. About one load of ten lacks an entry of its paint although it was painted: it is loaded again. */
async function firstPaint(page: Page, url: string): Promise<number> {
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await page.goto(url);
    const paint = await page.evaluate<number | null>(`new Promise((done) => {
      setTimeout(() => done(null), 4000);
      new PerformanceObserver((list) => {
        for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') done(startTime);
      }).observe({ type: 'paint', buffered: true });
    })`);
    if (paint !== null) return paint;
  }
  throw new Error(`the browser recorded no paint of ${url}`);
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** CSS pixels of an element, which is scrolled to the middle of the window. */
export function boxOf(page: Page, selector: string): Promise<Box> {
  return page.evaluate(`(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  })()`);
}

/** Milliseconds after which the page draws no more by itself. */
const SETTLED = 600;
/** Milliseconds from one input to the next one: as of a mouse, and more than one for each frame of a 60 Hz screen. */
const PAUSE = 8;
/** Of each input: CSS pixels of the pointer, and units of the wheel. */
const STEP = 4;
const WHEEL = 20;

/** For so many seconds: by the pointer to the right, to the left and back, or by the wheel in and out again. */
export async function framesOf(page: Page, selector: string, gesture: Gesture, seconds: number): Promise<Frames> {
  const box = await boxOf(page, selector);
  await pause(SETTLED);
  const x = box.x + box.width * 0.6;
  const y = box.y + box.height / 2;
  const mouse = (type: string, more: Readonly<Record<string, unknown>>): Promise<unknown> =>
    page.send('Input.dispatchMouseEvent', { type, x, y, button: 'none', ...more });
  await mouse('mouseMoved', {});
  if (gesture === 'pan') await mouse('mousePressed', { button: 'left', buttons: 1, clickCount: 1 });
  const count = Math.round((seconds * 1000) / PAUSE);
  const quarter = count / 4;
  const events = await traced(page, async () => {
    const began = performance.now();
    const handled: Promise<unknown>[] = [];
    for (let i = 0; i < count; i += 1) {
      const steps = i < quarter ? i : i < 3 * quarter ? 2 * quarter - i : i - count;
      handled.push(
        gesture === 'pan'
          ? mouse('mouseMoved', { x: x + STEP * steps, button: 'left', buttons: 1 })
          : mouse('mouseWheel', { deltaX: 0, deltaY: i < count / 2 ? -WHEEL : WHEEL }),
      );
      // They do not wait for the page: it gets what came in the meantime as one event.
      await pause(Math.max(0, began + (i + 1) * PAUSE - performance.now()));
    }
    await Promise.all(handled);
  });
  if (gesture === 'pan') await mouse('mouseReleased', { button: 'left', clickCount: 1 });
  return framesIn(events);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds. */
  readonly ts: number;
  readonly dur?: number;
}

async function traced(page: Page, act: () => Promise<void>): Promise<TraceEvent[]> {
  const before = page.events.length;
  await page.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: {
      includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline.frame'],
      excludedCategories: ['*'],
    },
  });
  await act();
  await page.send('Tracing.end');
  const late = performance.now() + 30_000;
  const isOver = (): boolean => page.events.slice(before).some(({ method }) => method === 'Tracing.tracingComplete');
  while (!isOver()) {
    if (performance.now() > late) throw new Error('the browser sent no trace');
    await pause(20);
  }
  return page.events
    .slice(before)
    .filter(({ method }) => method === 'Tracing.dataCollected')
    .flatMap(({ params }) => params['value'] as TraceEvent[]);
}

/** Of the renderer whose scripts ran. */
function framesIn(events: readonly TraceEvent[]): Frames {
  const sorted = events.toSorted((a, b) => a.ts - b.ts);
  const main = sorted.find(({ name }) => name === 'EventDispatch');
  if (main === undefined) throw new Error('no input reached the page');
  const draws = sorted.filter(({ name, pid }) => name === 'DrawFrame' && pid === main.pid).map(({ ts }) => ts);
  const script: number[] = [];
  let sum = 0;
  let end = 0;
  for (const { name, pid, tid, ts, dur = 0 } of sorted) {
    if (pid !== main.pid || tid !== main.tid) continue;
    if (name === 'BeginMainThreadFrame') {
      if (sum > 0) script.push(sum / 1e6);
      sum = 0;
    } else if ((name === 'EventDispatch' || name === 'FireAnimationFrame') && ts >= end) {
      // One event may dispatch another one.
      sum += dur;
      end = ts + dur;
    }
  }
  if (sum > 0) script.push(sum / 1e6);
  // The frame before the first one of the gesture may be an old one.
  return { between: draws.slice(2).map((ts, i) => (ts - draws[i + 1]!) / 1e6), script };
}

/** A value that the given share of the values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new Error('no frame was drawn');
  return value;
}
