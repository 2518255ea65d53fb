/**
 * Pages of `report` in a real Chromium: one request, no error, hostile names stay text, tables equal `--json`, keys and
 * deep links work, and screen readers, print and dark mode get what they need.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groupBy } from '../../src/model/group-by.js';
import { sumOf } from '../../src/model/lists.js';
import type { AttributeResult } from '../../src/model/results/attribute.js';
import type { DiagnoseResult, PeakResult } from '../../src/model/results/common.js';
import type { DiffResult } from '../../src/model/results/diff.js';
import type { TimelineResult } from '../../src/model/results/timeline.js';
import { formatBytes, GIB, MIB } from '../../src/model/units.js';
import { buildCli } from '../support/cli.js';
import { skipLoudly } from '../support/corpus.js';
import { type SmallBlock, type SmallEntry, smallSnapshot } from '../support/small-snapshot.js';
import { samplePath, sampleStore } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { type Browser, findChromium, launchBrowser, type Page } from './browser.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');
const AFTER = samplePath('llama3-70b-expandable');
const HOSTILE = '</script><img src=x onerror="document.title=`run`">\u202e\u0007';

const chromium = findChromium();

describe('pages in a browser', () => {
  if (chromium === undefined && process.env['MBF_BROWSER'] !== 'required') {
    skipLoudly('pages in a browser', 'Chromium (apt-get install chromium, or set MBF_CHROMIUM)');
    return;
  }
  const directory = temporaryDirectory();
  const cli = buildCli();
  let browser: Browser;

  beforeAll(async () => {
    if (chromium === undefined) throw new Error('Chromium is required here, and it is not installed');
    browser = await launchBrowser(chromium);
  });
  afterAll(async () => browser?.close());

  const ask = <T>(...args: readonly string[]): T => cli.expect(0, [...args, '--json=full']).json<T>();
  let pages = 0;
  /** Writes the page of a command line, and opens it. */
  async function open(args: readonly string[], hash = ''): Promise<{ page: Page; file: string }> {
    pages += 1;
    const file = join(directory, `page-${pages}.html`);
    cli.expect(0, [...args, ...(args[0] === 'report' ? ['-o'] : ['--html']), file]);
    const page = await browser.newPage();
    await page.goto(pathToFileURL(file).href + hash);
    await settled(page);
    return { page, file };
  }
  /** Views on the screen draw in the next frame, others after a pause. */
  const settled = (page: Page): Promise<void> =>
    page.evaluate(
      'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 400))))',
    );
  const FOCUS = '[...document.querySelectorAll("#stacked canvas[tabindex]")].at(-1).focus()';
  async function press(page: Page, ...keys: readonly string[]): Promise<void> {
    for (const key of keys) await page.press(key);
    await settled(page);
  }
  const mistakes = (page: Page): string[] =>
    page.events
      .filter(({ method }) => method === 'Runtime.exceptionThrown' || method === 'Log.entryAdded')
      .map(({ params }) => JSON.stringify(params));
  const requests = (page: Page): string[] =>
    page.events
      .filter(({ method }) => method === 'Network.requestWillBeSent')
      .map(({ params }) => (params['request'] as { url: string }).url);
  const trace = () => ask<TimelineResult>('timeline', SAMPLE).snapshots[0]!.devices[0]!.trace!;
  /** One request, its own, and no error. */
  function expectQuiet(page: Page): void {
    expect(requests(page)).toHaveLength(1);
    expect(mistakes(page)).toEqual([]);
  }
  /** Parts of the printed page that are wider than what holds them, with A4 and margins; erasures of drawings. */
  async function cutOnPaper(page: Page): Promise<string[]> {
    const size = { height: 1040, deviceScaleFactor: 1, mobile: false };
    await page.send('Emulation.setDeviceMetricsOverride', { ...size, width: 703 });
    await page.send('Emulation.setEmulatedMedia', { media: 'print' });
    const cut = await page.evaluate<string[]>(`(async () => {
      const erased = [];
      const clear = CanvasRenderingContext2D.prototype.clearRect;
      // A printed canvas repeats its calls, and erases what is below it.
      CanvasRenderingContext2D.prototype.clearRect = () => erased.push('clearRect');
      dispatchEvent(new Event('beforeprint'));
      await new Promise((done) => setTimeout(done, 400));
      const cut = [...document.querySelectorAll('body *')].filter((one) => one.getClientRects().length > 0 &&
        !one.closest('svg') && getComputedStyle(one).display !== 'inline' && !one.matches('.unseen') &&
        one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1).map((one) => one.className + one.textContent.slice(0, 40));
      CanvasRenderingContext2D.prototype.clearRect = clear;
      dispatchEvent(new Event('afterprint'));
      return [...cut, ...erased];
    })()`);
    await page.send('Emulation.setEmulatedMedia', { media: '' });
    await page.send('Emulation.setDeviceMetricsOverride', { ...size, width: 1600, height: 900 });
    await settled(page);
    return cut;
  }
  const hashOf = (page: Page): Promise<string> => page.evaluate('location.hash');
  const text = (page: Page, selector: string): Promise<string> =>
    page.evaluate(`document.querySelector(${JSON.stringify(selector)}).textContent`);
  /** Exact figures of the cells of one table, by row. */
  const cellBytes = (page: Page, table: string): Promise<number[][]> =>
    page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(`${table} tr`)})].map((row) =>
        [...row.querySelectorAll('[data-bytes]')].map((cell) => Number(cell.dataset.bytes))).filter((row) => row.length > 0)`,
    );

  describe('of a run', () => {
    let page: Page;
    let file = '';
    beforeAll(async () => {
      ({ page, file } = await open(['report', SAMPLE]));
    });

    it('makes one request, its own, and reports no error', () => {
      expect(requests(page)).toEqual([pathToFileURL(file).href]);
      expect(mistakes(page)).toEqual([]);
    });

    it('draws every view', async () => {
      const drawn = await page.evaluate<Record<string, number>>(`Object.fromEntries(
        ['stacked', 'map', 'segments', 'flame'].map((id) => [id, [...document.querySelectorAll('#' + id + ' .view canvas')]
          .reduce((most, canvas) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return Math.max(most, new Set(new Uint32Array(data.buffer)).size);
          }, 0)]))`);
      for (const [view, colors] of Object.entries(drawn)) expect(colors, view).toBeGreaterThan(4);
      expect(await page.evaluate('document.getElementById("picture-error").hidden')).toBe(true);
    });

    it('allows neither another script nor markup from texts', async () => {
      const strict = await browser.newPage();
      await strict.goto(pathToFileURL(file).href);
      const ran = await strict.evaluate(`(() => {
        const script = document.createElement('script');
        let refused = false;
        try { script.textContent = 'window.injected = true'; document.body.append(script); } catch { refused = true; }
        return refused || window.injected !== true;
      })()`);
      expect(ran).toBe(true);
      const markup = `(() => { try { document.body.innerHTML = '<b></b>'; } catch (error) { return error.name; } })()`;
      expect(await strict.evaluate(markup)).toBe('TypeError');
      await strict.close();
    });

    it('has the same bytes again', () => {
      const again = join(directory, 'again.html');
      cli.expect(0, ['report', SAMPLE, '-o', again]);
      expect(readFileSync(again)).toEqual(readFileSync(file));
    });

    it('has the verdict, the fix and the account of diagnose', async () => {
      const { verdicts } = ask<DiagnoseResult>('diagnose', SAMPLE);
      const { accounting, accounting_total: total } = verdicts[0]!;
      const header = await text(page, '#verdict, header');
      expect(header).toContain('fragmentation');
      expect(header).toContain('expandable_segments:True');
      expect(header).toContain('world 32 · TP 4 · PP 4 · VPP 5');
      expect(await text(page, '#verdict .run-facts pre')).toMatch(
        /^torch\.OutOfMemoryError: .*Tried to allocate 1\.60 GiB/,
      );
      const cells = (await cellBytes(page, '#memory')).map(([bytes]) => bytes);
      for (const part of accounting) expect(cells).toContain(part.bytes);
      expect(accounting.reduce((sum, part) => sum + part.bytes, 0)).toBe(total!.bytes);
    });

    it('has the components of attribute, the call sites of peak and the steps of timeline, to the byte', async () => {
      for (const at of ['oom', 'peak']) {
        const { devices } = ask<AttributeResult>('attribute', SAMPLE, '--at', at);
        const cells = (await cellBytes(page, '#stacked details.twin')).flat();
        // As attribute prints them: the phases of a part are one.
        const parts = groupBy(devices[0]!.components, (one) => `${one.component} ${one.sub_component}`);
        for (const phases of parts.values()) expect(cells).toContain(sumOf(phases.map(({ bytes }) => bytes)));
        const { snapshots } = ask<PeakResult>('peak', SAMPLE, '--at', at, '--limit', '25');
        const sites = (await cellBytes(page, '#flame details.twin')).flat();
        for (const group of snapshots[0]!.devices[0]!.groups) expect(sites).toContain(group.bytes);
      }
      const { rows } = trace().steps;
      const steps = (await cellBytes(page, '#steps')).flat();
      expect(rows.length).toBeGreaterThan(0);
      for (const row of rows)
        expect(steps).toEqual(expect.arrayContaining([row.peak_active_bytes, row.end_active_bytes]));
    });

    it('moves the cursor by keys, and shows exact figures that add up', async () => {
      const { peak_active: peak, ooms } = trace().marks;
      const figures = (): Promise<number[]> =>
        page.evaluate(
          `[...document.querySelectorAll('#stacked .at-cursor td')].map((cell) => Number((/([0-9,]+) bytes/.exec(cell.title) ?? [, '0'])[1].replaceAll(',', '')))`,
        );
      // The strip of the whole trace is above it.
      await page.evaluate(FOCUS);
      await press(page, 'p');
      const [, , , active, ...components] = await figures();
      expect(active).toBe(peak.bytes);
      // The last row is a part of the ones above.
      expect(components.slice(0, -1).reduce((sum, bytes) => sum + bytes, 0)).toBe(active);
      await press(page, 'Home', 'o');
      expect(await text(page, '#stacked .readout')).toContain(ooms[0]!.seq.toLocaleString('en-US'));
      await press(page, 'ArrowLeft');
      expect(await text(page, '#stacked .readout')).toContain((ooms[0]!.seq - 1).toLocaleString('en-US'));
      await press(page, '+');
      expect(await hashOf(page)).toMatch(/z=\d+-\d+/);
      await press(page, '0');
    });

    it('opens at what its address names, and ignores the rest', async () => {
      const linked = await browser.newPage();
      await linked.goto(`${pathToFileURL(file).href}#v=map&t=12000&z=10000-14000&a=time&e=E6&evil=<img>&s=99999999`);
      await settled(linked);
      expect(await text(linked, '#stacked .readout')).toContain('12,000');
      expect(await linked.evaluate('document.getElementById("evidence-E6").open')).toBe(true);
      await linked.evaluate(FOCUS);
      await press(linked, 'ArrowLeft');
      await linked.evaluate('new Promise((done) => setTimeout(done, 1000))');
      expect(await hashOf(linked)).toMatch(/t=11999/);
      expect(await hashOf(linked)).not.toContain('evil');
      expect(mistakes(linked)).toEqual([]);
      await linked.close();
      const odd = await browser.newPage();
      await odd.goto(`${pathToFileURL(file).href}#t=99999999999&z=5-1&a=__proto__&r=77&v=constructor`);
      await settled(odd);
      expect(mistakes(odd)).toEqual([]);
      await odd.close();
    });

    it('has names for screen readers, and a table for each drawing', async () => {
      await page.send('Accessibility.enable');
      const { nodes } = await page.send<{
        nodes: { role?: { value: string }; name?: { value: string }; ignored: boolean }[];
      }>('Accessibility.getFullAXTree');
      const named = nodes
        .filter(({ role, ignored }) => !ignored && role?.value === 'image')
        .map(({ name }) => name?.value ?? '');
      expect(named.length).toBeGreaterThanOrEqual(5);
      for (const name of named) expect(name.length).toBeGreaterThan(3);
      const without = await page.evaluate(
        `[...document.querySelectorAll('section:has(.view)')].filter((section) => section.querySelector('details.twin table') === null).map(({ id }) => id)`,
      );
      expect(without).toEqual([]);
      const unfocusable = await page.evaluate(
        `[...document.querySelectorAll('.view canvas[role=img]')].filter((canvas) => canvas.tabIndex !== 0).length`,
      );
      expect(unfocusable).toBe(0);
    });

    it('is dark where the system is, and prints whole', async () => {
      const shade = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
      const light = await shade();
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
      await settled(page);
      expect(await shade()).not.toBe(light);
      await page.send('Emulation.setEmulatedMedia', { features: [] });
      const open = '[...document.querySelectorAll("details")].filter(({ open }) => open).length';
      const before = await page.evaluate<number>(open);
      await page.evaluate('dispatchEvent(new Event("beforeprint"))');
      expect(await page.evaluate(open)).toBe(await page.evaluate('document.querySelectorAll("details").length'));
      await page.evaluate('dispatchEvent(new Event("afterprint"))');
      expect(await page.evaluate<number>(open)).toBe(before);
      expect(await cutOnPaper(page)).toEqual([]);
      const { data } = await page.send<{ data: string }>('Page.printToPDF', { printBackground: true });
      expect(data.length).toBeGreaterThan(50_000);
      expect(mistakes(page)).toEqual([]);
    });

    it('is drawn by time with the keyboard, with the same figures and the names of steps', async () => {
      const readout = await text(page, '#stacked .readout');
      const pixels = (view: string): Promise<string> =>
        page.evaluate(
          `[...document.querySelectorAll('#${view} .surface canvas')].map((canvas) => canvas.toDataURL()).join()`,
        );
      const before = [await pixels('stacked'), await pixels('map')];
      await page.evaluate(
        `[...document.querySelectorAll('#stacked .choice button')].find((one) => one.textContent === 'time').focus()`,
      );
      await press(page, ' ');
      await page.evaluate('new Promise((done) => setTimeout(done, 600))');
      expect(await hashOf(page)).toContain('a=time');
      expect(await text(page, '#stacked [aria-pressed=true]')).toBe('time');
      expect(await text(page, '#stacked .readout')).toBe(readout);
      await page.evaluate('document.getElementById("map").scrollIntoView()');
      await settled(page);
      const after = [await pixels('stacked'), await pixels('map')];
      expect(after[0]).not.toBe(before[0]);
      expect(after[1]).not.toBe(before[1]);
      await page.evaluate(FOCUS);
      await press(page, 'ArrowLeft', '+');
      expect(await text(page, '#stacked .readout')).not.toBe(readout);
      expect(await hashOf(page)).toMatch(/a=time&z=\d+-\d+/);
      await press(page, 'ArrowRight', '0');
      expect(await text(page, '#stacked .readout')).toBe(readout);
    });

    it('keeps every label within its chart, whatever the numbers', async () => {
      const log = join(directory, 'slow.log');
      writeFileSync(
        log,
        Array.from(
          { length: 9 },
          (_, i) =>
            ` iteration ${i + 1}/ 9 | consumed samples: ${i} | elapsed time per iteration (ms): ${160_000 + 731 * i}.5 | learning rate: 1.0E-05 | global batch size: 8 | lm loss: ${(-1) ** i * 10 ** (2 * i - 8)} | loss scale: 1.0 |\n`,
        ).join(''),
      );
      const { page: slow } = await open(['report', log]);
      const labels = await slow.evaluate<
        [string, boolean][]
      >(`[...document.querySelectorAll('#iterations .chart svg:not(.swatch)')].flatMap((svg) => {
        const { left, right } = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].map((label) => {
          const box = label.getBoundingClientRect();
          return [label.textContent, box.left >= left && box.right <= right];
        });
      })`);
      expect(labels.map(([label]) => label)).toContain('2.65 min');
      expect(labels.filter(([, isInside]) => !isInside)).toEqual([]);
      await slow.close();
    });

    it('is complete without scripts', async () => {
      const plain = await browser.newPage();
      await plain.send('Emulation.setScriptExecutionDisabled', { value: true });
      await plain.goto(pathToFileURL(file).href);
      const { data } = await plain.send<{ data: string }>('Page.printToPDF', {});
      expect(data.length).toBeGreaterThan(20_000);
      await plain.close();
    });
  });

  it('shows hostile names as text', async () => {
    const run = join(directory, 'run <img src=x onerror=alert(1)>');
    mkdirSync(run);
    const stack = [`${HOSTILE} /job/<script>alert(1)</script>.py:7`];
    const [live, free]: SmallBlock[] = [
      { size: 2 * MIB, stack },
      { size: 18 * MIB, state: 'inactive' },
    ] as const;
    const entries: SmallEntry[] = [
      { action: 'alloc', addr: 0x7f00_0000_0000, size: 2 * MIB, stack },
      { action: 'oom', addr: 512 * MIB, size: 64 * MIB, stack },
    ];
    writeFileSync(join(run, 'snapshot_0.pickle'), smallSnapshot({ segments: [[live!, free!]], entries }));
    writeFileSync(
      join(run, 'train.log'),
      `host ${HOSTILE}\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 512.00 MiB is free. ${HOSTILE}\n`,
    );
    const { page } = await open(['report', run]);
    expect(await page.evaluate('document.title')).toContain('<img');
    expect(await page.evaluate('document.querySelectorAll("img").length')).toBe(0);
    expect(await page.evaluate('document.querySelectorAll("script:not([type])").length')).toBe(1);
    const control = '/[\\u202a-\\u202e\\u2066-\\u2069\\u0007]/.test(document.documentElement.textContent)';
    expect(await page.evaluate(control)).toBe(false);
    expectQuiet(page);
  });

  it('draws two runs on one axis, with the difference of diff', async () => {
    const { page } = await open(['report', AFTER, '--baseline', SAMPLE]);
    const diff = ask<DiffResult>('diff', SAMPLE, AFTER);
    const colors = await page.evaluate<number>(`(() => {
      const canvas = document.querySelector('#pair .view canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    })()`);
    expect(colors).toBeGreaterThan(3);
    const cells = (await cellBytes(page, '#differences')).flat();
    for (const component of diff.components.filter(({ delta_bytes: bytes }) => bytes !== 0))
      expect(cells).toContain(component.delta_bytes);
    expect(await page.evaluate('document.querySelectorAll("#verdict .run-facts").length')).toBe(2);
    expect(await cutOnPaper(page)).toEqual([]);
    expect(await page.evaluate('document.querySelectorAll(".devices button").length')).toBe(2);
    expectQuiet(page);
  });

  it('draws a dump without a trace, a log alone, and nothing', async () => {
    const dump = join(directory, 'dump.pickle');
    writeFileSync(dump, smallSnapshot({ segments: [[{ size: 4 * MIB }, { size: 16 * MIB, state: 'inactive' }]] }));
    const { page } = await open(['report', dump]);
    expect(await text(page, '#flame .view')).toContain(formatBytes(4 * MIB));
    const missing = await page.evaluate(
      `[...document.querySelectorAll('#stacked [aria-disabled]')].map(({ textContent, title }) => textContent + ': ' + title)`,
    );
    expect(missing).toEqual(['time: no trace was recorded', 'step: no trace was recorded']);
    expect(mistakes(page)).toEqual([]);
    const log = join(directory, 'oom.log');
    writeFileSync(
      log,
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.85 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 5.00 GiB is reserved by PyTorch but unallocated.\n',
    );
    const { page: logPage } = await open(['report', log]);
    expect(await logPage.evaluate('document.querySelectorAll(".view").length')).toBe(0);
    expect((await cellBytes(logPage, '#memory')).flat()).toContain(70 * GIB);
    expect(mistakes(logPage)).toEqual([]);
    const empty = join(directory, 'empty.log');
    writeFileSync(empty, 'iteration 1\n');
    const { page: emptyPage } = await open(['report', empty]);
    expect(mistakes(emptyPage)).toEqual([]);
  });

  it('draws a history, and the timeline verb writes the page of its run', async () => {
    const { page } = await open([
      'history',
      '--metric',
      'peak_allocated_bytes',
      '--by',
      'run',
      '--db',
      sampleStore('llama3-70b-fragmentation'),
    ]);
    expect((await text(page, 'main')).length).toBeGreaterThan(50);
    expect(mistakes(page)).toEqual([]);
    const { page: timeline } = await open(['timeline', SAMPLE]);
    expect(await timeline.evaluate('document.querySelectorAll("#stacked canvas").length')).toBeGreaterThan(0);
    expect(mistakes(timeline)).toEqual([]);
  });

  it('draws the stacked view as an SVG that a browser shows', async () => {
    const svg = join(directory, 'stack.svg');
    cli.expect(0, ['report', SAMPLE, '-o', svg]);
    const page = await browser.newPage();
    await page.goto(pathToFileURL(svg).href);
    expect(await page.evaluate('document.documentElement.localName')).toBe('svg');
    expect(await page.evaluate<number>('document.querySelectorAll("path").length')).toBeGreaterThan(4);
    expect(await page.evaluate('document.querySelectorAll("script").length')).toBe(0);
    expectQuiet(page);
  });

  it('replaces its own page, and no other file', () => {
    const file = join(directory, 'kept.html');
    writeFileSync(file, '<!doctype html><p>mine');
    expect(cli.expect(2, ['report', SAMPLE, '-o', file]).stderr).toContain('MBF1007');
    expect(readFileSync(file, 'utf8')).toBe('<!doctype html><p>mine');
    cli.expect(0, ['report', SAMPLE, '-o', file, '--force']);
    cli.expect(0, ['report', SAMPLE, '-o', file]);
    const answer = ask<{ file: string; bytes: number }>('report', SAMPLE, '-o', file);
    expect(answer.bytes).toBe(readFileSync(file).length);
  });
});
