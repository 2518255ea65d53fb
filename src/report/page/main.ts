/** The program of the page: reads the data, makes the views, and redraws them. */

import { visibleText } from '../../model/escape-controls.js';
import { newAddressBar, openAllDetails, reveal } from './address-bar.js';
import { missingAxis } from './axis.js';
import { setPrinting } from './canvas.js';
import { choice } from './dom.js';
import { mountFlame } from './flame/flame.js';
import { mountLifetimes } from './flame/lifetimes.js';
import { defined, type HashState } from './hash.js';
import { type LoadedPage, loadPage } from './load.js';
import { mountMap } from './map/address-map.js';

import { mountSegments } from './segments/segment-map.js';
import { mountPair } from './stack/pair.js';
import { mountStacked } from './stack/stacked.js';
import { createShared, type Loaded, type Shared, type View, type ViewState } from './view-state.js';

type Mount = (root: HTMLElement, loaded: Loaded, shared: Shared) => View;

const MOUNTS: readonly (readonly [section: string, mount: Mount])[] = [
  ['stacked', mountStacked],
  ['map', mountMap],
  ['segments', mountSegments],
  ['flame', mountFlame],
  ['lifetimes', mountLifetimes],
];

/** Milliseconds after the last change until views that are not on the screen are drawn. */
const IDLE = 250;

interface Mounted {
  readonly root: HTMLElement;
  readonly view: View;
  isNear: boolean;
  isStale: boolean;
}

async function start(): Promise<void> {
  const page = await loadPage();
  const bar = newAddressBar();
  if (page.data.devices.length === 0) {
    revealNamed(bar.read());
    addEventListener('hashchange', () => revealNamed(bar.read()));
    return;
  }
  let mounted: Mounted[] = [];
  let shared: Shared | null = null;
  const redraw = coalesced(() => {
    for (const mountedView of mounted) mountedView.view.draw(shared!.get());
  });
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const mountedView = mounted.find(({ root }) => root === target);
        if (mountedView === undefined) continue;
        mountedView.isNear = isIntersecting;
        if (isIntersecting) drawStale([mountedView], shared!);
      }
    },
    { rootMargin: '200px' },
  );
  const widths = new Map<Element, number>();
  // Heights change with each note below a drawing; drawings depend on widths only.
  const resized = new ResizeObserver((entries) => {
    const changed = entries.filter(({ target, contentRect }) => widths.get(target) !== contentRect.width);
    for (const { target, contentRect } of changed) widths.set(target, contentRect.width);
    if (changed.length > 0) redraw();
  });

  const open = async (device: number, named: HashState): Promise<void> => {
    const loaded = { page: page.data.devices[device]!, columns: await page.columnsOf(device) };
    near.disconnect();
    resized.disconnect();
    const current = createShared(initialState(loaded, device, named));
    shared = current;
    const [a, b] = page.data.devices;
    const pair: readonly [Loaded, Loaded] | null =
      page.data.isPair && a !== undefined && b !== undefined
        ? [
            { page: a, columns: await page.columnsOf(0) },
            { page: b, columns: await page.columnsOf(1) },
          ]
        : null;
    mounted = [];
    const add = (section: string, mount: (root: HTMLElement) => View): void => {
      const root = document.querySelector<HTMLElement>(`#${section} > .view`);
      if (root === null) return;
      root.replaceChildren();
      mounted.push({ root, view: mount(root), isNear: true, isStale: false });
    };
    if (pair !== null) add('pair', (root) => mountPair(root, pair, current));
    const first = mounted.length;
    for (const [section, mount] of MOUNTS) add(section, (root) => mount(root, loaded, current));
    addDevices(page, device, mounted[first]?.root, (chosen) => {
      open(chosen, {}).then(() => bar.write(shared!.get(), page.data.devices[chosen]!), showError);
    });
    const idle = afterPause(() => drawStale(mounted, current));
    current.subscribe((state) => {
      if (shared !== current) return;
      for (const mountedView of mounted) {
        if (mountedView.isNear) mountedView.view.draw(state);
        else mountedView.isStale = true;
      }
      idle();
      bar.write(state, loaded.page);
    });
    for (const { view, root } of mounted) {
      view.draw(current.get());
      near.observe(root);
      resized.observe(root);
    }
  };

  const named = bar.read();
  await open(deviceOf(page, named), named);
  revealNamed(named);
  addEventListener('hashchange', () => {
    const next = bar.read();
    const device = deviceOf(page, next);
    const state = shared!.get();
    const names = Object.keys(next);
    if (names.includes('device') && device !== state.device) {
      open(device, next).then(() => revealNamed(next), showError);
      return;
    }
    page.columnsOf(state.device).then((columns) => {
      shared!.set(changeOf({ page: page.data.devices[state.device]!, columns }, next));
    }, showError);
    revealNamed(next);
  });
  watchScreen(redraw);
  watchPrint(() => {
    for (const mountedView of mounted) mountedView.view.draw(shared!.get());
  });
}

function drawStale(mounted: readonly Mounted[], shared: Shared): void {
  for (const mountedView of mounted) {
    if (!mountedView.isStale) continue;
    mountedView.isStale = false;
    mountedView.view.draw(shared.get());
  }
}

const deviceOf = ({ data }: LoadedPage, { device = 0 }: HashState): number =>
  device < data.devices.length ? device : 0;

/** The whole trace; the cursor is at the first failed allocation, else at the peak, unless the address names others. */
function initialState(loaded: Loaded, device: number, named: HashState): ViewState {
  const { firstSeq, lastSeq, marks } = loaded.page;
  const oom = marks.filter(({ kind }) => kind === 'oom').sort((a, b) => a.seq - b.seq)[0];
  const peak = marks.find(({ kind }) => kind === 'peak');
  return {
    device,
    from: firstSeq,
    to: lastSeq + 1,
    axis: 'entry',
    cursor: oom?.seq ?? peak?.seq ?? lastSeq,
    stack: null,
    ...changeOf(loaded, named),
  };
}

/** What the address names, as far as this device has it. */
function changeOf({ page, columns }: Loaded, { cursor, axis, range, stack }: HashState): Partial<ViewState> {
  const { firstSeq, lastSeq } = page;
  const from = Math.max(firstSeq, range?.from ?? firstSeq);
  const to = Math.min(lastSeq + 1, range?.to ?? lastSeq + 1);
  return {
    ...defined({
      cursor: cursor && Math.min(lastSeq, Math.max(firstSeq, cursor)),
      axis: axis && (missingAxis(page, axis) === null ? axis : undefined),
      stack: stack !== undefined && stack < columns.stacks.length ? stack : undefined,
    }),
    ...(range === undefined || from >= to ? {} : { from, to }),
  };
}

/** Links of the page name a piece of evidence directly: `#evidence-E6`. */
function revealNamed(named: HashState): void {
  const direct = /^#evidence-([\w-]+)$/.exec(location.hash)?.[1];
  reveal(direct === undefined ? named : { evidence: direct });
}

function addDevices(
  { data }: LoadedPage,
  device: number,
  root: HTMLElement | undefined,
  choose: (device: number) => void,
): void {
  if (data.devices.length < 2 || root === undefined) return;
  const options = data.devices.map(({ title }, i) => [String(i), visibleText(title)] as const);
  const devices = choice('Device', options, (chosen) => {
    if (Number(chosen) !== device) choose(Number(chosen));
  });
  devices.show(String(device));
  devices.root.classList.add('devices');
  root.prepend(devices.root);
}

/** Once per frame, however often it is called. */
function coalesced(draw: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      draw();
    });
  };
}

/** After {@link IDLE} milliseconds without a call. */
function afterPause(act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, IDLE);
  };
}

/** The colour scheme, and the resolution: it changes when the window moves to another screen. */
function watchScreen(redraw: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  const watchRatio = (): void => {
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener(
      'change',
      () => {
        redraw();
        watchRatio();
      },
      { once: true },
    );
  };
  watchRatio();
}

function watchPrint(draw: () => void): void {
  let close: (() => void) | null = null;
  addEventListener('beforeprint', () => {
    close ??= openAllDetails();
    setPrinting(true);
    draw();
  });
  addEventListener('afterprint', () => {
    setPrinting(false);
    close?.();
    close = null;
    draw();
  });
}

function showError(error: unknown): void {
  const place = document.getElementById('picture-error');
  if (place === null) return;
  const reason = error instanceof Error ? error.message : String(error);
  place.hidden = false;
  place.textContent = `The drawings are missing, because their data cannot be read (${visibleText(reason)}). The tables are complete.`;
}

start().catch(showError);
