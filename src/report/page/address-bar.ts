/** Keeps the address of the page up to date, and opens what it names. */

import type { PageDevice } from '../../model/picture/page-data.js';
import { defined, EVIDENCE, formatHash, type HashState, parseHash, VIEWS, type ViewName } from './hash.js';
import type { ViewState } from './view-state.js';

/** Milliseconds between two changes of the address: browsers allow a few hundred in 30 seconds. */
const PAUSE = 300;

export interface AddressBar {
  /** What the address named when it was read. */
  read(): HashState;
  write(state: ViewState, page: PageDevice): void;
}

export function newAddressBar(): AddressBar {
  let view: ViewName | undefined;
  let evidence: string | undefined;
  let last: { readonly state: ViewState; readonly page: PageDevice } | null = null;
  let isWaiting = false;

  const store = (): void => {
    isWaiting = false;
    if (last === null) return;
    const { state, page } = last;
    const from = Math.floor(state.from);
    const to = Math.ceil(state.to);
    const isAll = from <= page.firstSeq && to > page.lastSeq;
    const hash = formatHash(
      defined({
        ...{ view, evidence, device: state.device, cursor: Math.max(0, Math.floor(state.cursor)) },
        axis: state.axis === 'entry' ? undefined : state.axis,
        range: isAll ? undefined : { from, to },
        stack: state.stack ?? undefined,
      }),
    );
    try {
      history.replaceState(null, '', hash);
    } catch {
      // A browser that forbids it for files keeps the old address.
    }
  };
  const soon = (): void => {
    if (!isWaiting) setTimeout(store, PAUSE);
    isWaiting = true;
  };

  document.addEventListener('focusin', ({ target }) => {
    const id = target instanceof Element ? target.closest('section[id]')?.id : undefined;
    const named = VIEWS.find((name) => name === id);
    if (named === undefined || named === view) return;
    view = named;
    soon();
  });
  // `toggle` does not bubble.
  document.addEventListener(
    'toggle',
    ({ target }) => {
      if (!(target instanceof HTMLDetailsElement)) return;
      const id = target.id.replace(/^evidence-/, '');
      if (id === target.id || !EVIDENCE.test(id) || isOpeningAll) return;
      if (target.open === (evidence === id)) return;
      if (target.open) evidence = id;
      else if (evidence === id) evidence = undefined;
      soon();
    },
    { capture: true },
  );
  return {
    read: () => {
      const state = parseHash(location.hash);
      view = state.view;
      evidence = state.evidence;
      return state;
    },
    write: (state, page) => {
      last = { state, page };
      soon();
    },
  };
}

let isOpeningAll = false;

/** Opens all details for print; the returned function closes those that were closed. */
export function openAllDetails(): () => void {
  const closed = [...document.querySelectorAll<HTMLDetailsElement>('details:not([open])')];
  isOpeningAll = true;
  for (const details of closed) details.open = true;
  return () => {
    for (const details of closed) details.open = false;
    // The events come later.
    setTimeout(() => {
      isOpeningAll = false;
    }, 100);
  };
}

/** Opens the evidence, and scrolls to it or else to the view. */
export function reveal({ view, evidence }: HashState): void {
  const details = evidence === undefined ? null : document.getElementById(`evidence-${evidence}`);
  if (details instanceof HTMLDetailsElement) details.open = true;
  const target = details ?? (view === undefined ? null : document.getElementById(view));
  target?.scrollIntoView({ behavior: 'instant' });
}
